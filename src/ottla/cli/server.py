"""`ottla server`: from a command line to a running node."""

import argparse
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla import __version__
from ottla.cli.main import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from ottla.config import unserved
from ottla.config.broker_config import BrokerConfig, plaintext_listener, single_node_defaults
from ottla.config.properties_file import load_properties
from ottla.config.values import ConfigError

if TYPE_CHECKING:
    from ottla.broker.node import Node

DEFAULT_DATA_DIR: Final = "ottla-data"
DEFAULT_LISTEN: Final = "127.0.0.1:9092"

logger = logging.getLogger("ottla.cli.server")


class UsageError(Exception):
    """The command line cannot mean anything."""


def run(options: argparse.Namespace) -> int:
    """Run a node until it is told to stop; the value is the exit code."""
    try:
        given = properties(options)
        unserved.check(given)
        config = BrokerConfig(given)
    except (UsageError, ConfigError) as error:
        print(f"ottla server: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_FAILURE
    _start_logging()
    for warning in (*config.warnings, *unserved.warnings(config)):
        logger.warning("%s", warning)
    from ottla.broker import node

    try:
        node.run(config, announce)
    except node.StartupError as error:
        print(f"ottla server: {error}", file=sys.stderr)
        return EXIT_FAILURE
    except KeyboardInterrupt:
        # Ctrl-C before the node has taken over signals: nothing is open yet.
        return EXIT_OK
    return EXIT_OK


def properties(options: argparse.Namespace) -> dict[str, str]:
    """What file and switches say together; an override beats a switch, a switch beats the file."""
    if options.data is not None and "," in options.data:
        raise UsageError(f"--data {options.data}: it names one directory; several go into --override log.dirs=A,B.")
    if options.properties is None:
        listen = options.listen or DEFAULT_LISTEN
        merged = single_node_defaults(Path(options.data or DEFAULT_DATA_DIR).absolute(), listen)
    else:
        merged = load_properties(Path(options.properties))
        if options.data is not None:
            merged["log.dirs"] = str(Path(options.data).absolute())
        if options.listen is not None:
            merged["listeners"] = ",".join((plaintext_listener(options.listen), *_controller_listeners(merged)))
    for override in options.override:
        name, separator, value = override.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"--override {override}: write KEY=VALUE, as in --override log.retention.hours=24.")
        merged[name.strip()] = value.strip()
    return merged


def _controller_listeners(given: dict[str, str]) -> list[str]:
    """The listeners of a file that --listen leaves alone, since it is about where clients connect."""
    names = {name.strip().upper() for name in given.get("controller.listener.names", "").split(",")}
    entries = (entry.strip() for entry in given.get("listeners", "").split(","))
    return [entry for entry in entries if entry.partition(":")[0].upper() in names]


def announce(node: "Node") -> None:
    """Say where everything is, once clients are served."""
    config = node.config
    advertised = {listener.name: listener for listener in config.advertised_listeners}
    print(f"Ottla {__version__} is running.")
    for listener in node.listeners:
        shown = advertised.get(listener.config.name)
        if shown is None:
            continue
        # A listener on port 0 has the port that the system chose.
        port = shown.port or listener.port
        print(f"  bootstrap   {replace(shown, port=port).address}  (listener {shown.name})")
    print(f"  data        {', '.join(str(directory) for directory in config.log_dirs)}")
    print(f"  cluster id  {node.cluster_id}")
    print(f"  node id     {config.node_id}")
    print("Press Ctrl-C to stop.", flush=True)


def _start_logging() -> None:
    level = os.environ.get("OTTLA_LOG_LEVEL", "INFO").upper()
    logging.basicConfig(
        level=level if level in logging.getLevelNamesMapping() else "INFO",
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
        stream=sys.stderr,
    )
