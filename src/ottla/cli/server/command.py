"""`ottla server`: from a command line to a running node."""

import argparse
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla import __version__
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.server.service_manager import tell_ready
from ottla.cli.service_log import start_logging
from ottla.cli.words.addresses import add_metrics_option, check_port, metrics_address
from ottla.cli.words.overrides import add_override_option, apply_overrides
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.broker.node import Node
    from ottla.config.broker_config import BrokerConfig

DEFAULT_DATA_DIR: Final = "ottla-data"
DEFAULT_LISTEN: Final = "127.0.0.1:9092"
# How far above the port for clients the first broker of a row has its port for controllers.
CONTROLLER_PORT_DISTANCE: Final = 100

logger = logging.getLogger("ottla.cli.server.command")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a node is started with."""
    parser.description = (
        "Run a node until Ctrl-C or SIGTERM. Without a properties file it is a cluster by itself, and its storage is "
        "made on the first start."
    )
    parser.epilog = (
        "examples: ottla server --data ./data --listen 127.0.0.1:9092 | "
        "ottla server server.properties --override log.retention.hours=24"
    )
    parser.add_argument("properties", nargs="?", metavar="server.properties", help="configuration in Kafka's format")
    parser.add_argument("--data", metavar="DIR", help="data directory (log.dirs); default ./ottla-data without a file")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="address to serve (listeners); default 127.0.0.1:9092 without a file"
    )
    add_override_option(parser)
    add_metrics_option(parser)
    parser.add_argument(
        "--brokers",
        type=int32,
        metavar="N",
        help="run N brokers of this host as one service, with ports in a row; one broker uses about one core",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a node until it is told to stop; the value is the exit code."""
    from ottla.config import unserved

    if options.brokers is not None:
        return _run_several(options)
    page = None if options.metrics is None else metrics_address(options.metrics)
    config = checked_config(options)
    start_logging()
    for warning in (*config.warnings, *unserved.warnings(config)):
        logger.warning("%s", warning)
    from ottla.broker.node import StartupError
    from ottla.broker.process import run as run_node

    try:
        run_node(config, _tell_started, page)
    except StartupError as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        # Ctrl-C before the node has taken over signals: nothing is open yet.
        pass
    return ExitCode.DONE


def _run_several(options: argparse.Namespace) -> int:
    from ottla.cli.server.broker_row import run_row

    if options.metrics is not None:
        raise UsageError("--metrics is for one broker: leave it out, or start the brokers one by one.")
    given = properties(options)
    if options.properties is None:
        # The other brokers need the first one's controller, which a lone node never opens.
        host, _, port = (options.listen or DEFAULT_LISTEN).rpartition(":")
        given["listeners"] += f",CONTROLLER://{host}:{int(port) + CONTROLLER_PORT_DISTANCE}"
    return run_row(given, options.brokers)


def checked_config(options: argparse.Namespace) -> "BrokerConfig":
    """The configuration of a command line; an error says what is wrong with it."""
    from ottla.config import unserved
    from ottla.config.broker_config import BrokerConfig
    from ottla.config.values import ConfigError

    try:
        given = properties(options)
        unserved.check(given)
        return BrokerConfig(given)
    except ConfigError as error:
        raise CommandError(str(error)) from error


def properties(options: argparse.Namespace) -> dict[str, str]:
    """What file and switches say together; an override beats a switch, a switch beats the file."""
    from ottla.config.broker_config import plaintext_listener, single_node_defaults
    from ottla.config.properties_file import load_properties

    if options.data is not None and "," in options.data:
        raise UsageError(f"--data {options.data}: it names one directory; several go into --override log.dirs=A,B.")
    if options.listen is not None:
        check_port("--listen", options.listen, DEFAULT_LISTEN)
    if options.properties is None:
        listen = options.listen or DEFAULT_LISTEN
        merged = single_node_defaults(Path(options.data or DEFAULT_DATA_DIR).absolute(), listen)
    else:
        merged = load_properties(Path(options.properties))
        if options.data is not None:
            merged["log.dirs"] = str(Path(options.data).absolute())
        if options.listen is not None:
            merged["listeners"] = ",".join((plaintext_listener(options.listen), *_controller_listeners(merged)))
    apply_overrides(options, merged, "log.retention.hours=24")
    return merged


def _controller_listeners(given: dict[str, str]) -> list[str]:
    """The listeners of a file that --listen leaves alone, since it is about where clients connect."""
    names = {name.strip().upper() for name in given.get("controller.listener.names", "").split(",")}
    entries = (entry.strip() for entry in given.get("listeners", "").split(","))
    return [entry for entry in entries if entry.partition(":")[0].upper() in names]


def _tell_started(node: "Node") -> None:
    announce(node)
    served = (*node.config.advertised_listeners, *node.config.advertised_controller_listeners)
    tell_ready(os.environ, f"Serving {', '.join(listener.address for listener in served)}")


def announce(node: "Node") -> None:
    """Say where everything is, once clients are served."""
    config = node.config
    clients = {listener.name: listener for listener in config.advertised_listeners}
    controllers = {listener.name: listener for listener in config.advertised_controller_listeners}
    print(f"Ottla {__version__} is running.")
    for acceptor in node.acceptors:
        name = acceptor.listener.name
        shown = clients.get(name) or controllers.get(name)
        if shown is None:
            continue
        what = "bootstrap " if name in clients else "controller"
        # A listener on port 0 has the port that the system chose.
        port = shown.port or acceptor.port
        print(f"  {what}  {replace(shown, port=port).address}  (listener {shown.name})")
    if node.metrics is not None:
        print(f"  metrics     {node.metrics.url}")
    print(f"  data        {', '.join(str(directory) for directory in config.log_dirs)}")
    print(f"  cluster id  {node.cluster_id}")
    print(f"  node id     {config.node_id}")
    print("Press Ctrl-C to stop.", flush=True)
