"""`ottla registry`: from a command line to a running schema registry."""

import argparse
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla import __version__
from ottla.cli.access import cluster_access
from ottla.cli.exits import CommandError, ExitCode, command_error
from ottla.cli.server.service_manager import tell_ready
from ottla.cli.service_log import start_logging
from ottla.cli.words.overrides import add_override_option, apply_overrides

if TYPE_CHECKING:
    from ottla.registry.settings import ListenAddress, RegistrySettings

_BOOTSTRAP: Final = "kafkastore.bootstrap.servers"
# Without a file nobody has thought of who may connect.
_LOCAL_DEFAULTS: Final = {"listeners": "http://127.0.0.1:8081", "host.name": "127.0.0.1"}
_MISSING: Final = "The registry's libraries are missing: pip install 'ottla[registry]'"

logger = logging.getLogger("ottla.cli.registry.command")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What a registry is started with."""
    parser.description = (
        "Run a schema registry until Ctrl-C or SIGTERM. It keeps schemas in a topic of the cluster, and serves "
        "Confluent's REST API. Without a properties file it listens on 127.0.0.1:8081."
    )
    parser.epilog = (
        "examples: ottla registry -b 127.0.0.1:9092 | "
        "ottla registry schema-registry.properties --override schema.compatibility.level=FULL"
    )
    parser.add_argument(
        "properties", nargs="?", metavar="schema-registry.properties", help="configuration in Confluent's format"
    )
    add_override_option(parser)
    cluster_access.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a registry until it is told to stop; the value is the exit code."""
    import asyncio

    from ottla.client import ClientError
    from ottla.client.event_loop import event_loop_class

    given = _properties(options)
    try:
        from ottla.registry.schemas_topic import UnusableTopic
        from ottla.registry.server import ListenFailed, run_registry
        from ottla.registry.settings import unknown_settings
    except ModuleNotFoundError as error:
        raise CommandError(f"{_MISSING} ({error.name})") from None
    settings = _settings(given)
    start_logging()
    for warning in unknown_settings(given):
        logger.warning("%s", warning)

    def announce(addresses: "list[ListenAddress]") -> None:
        _announce(addresses, settings)

    try:
        with asyncio.Runner(loop_factory=event_loop_class()) as runner:
            runner.run(run_registry(settings, announce))
    except (ListenFailed, UnusableTopic) as error:
        raise CommandError(str(error)) from error
    except ClientError as error:
        raise command_error(error) from error
    except KeyboardInterrupt:
        # Ctrl-C before the registry has taken over signals.
        pass
    return ExitCode.DONE


def _properties(options: argparse.Namespace) -> dict[str, str]:
    from ottla.config.properties_file import load_properties
    from ottla.config.values import ConfigError

    access = cluster_access.cluster_access(options)
    if options.properties is None:
        given = dict(_LOCAL_DEFAULTS)
    else:
        try:
            given = load_properties(Path(options.properties))
        except ConfigError as error:
            raise CommandError(str(error)) from error
    apply_overrides(options, given, "schema.compatibility.level=FULL")
    given.setdefault(_BOOTSTRAP, access.bootstrap)
    return given


def _settings(given: dict[str, str]) -> "RegistrySettings":
    from ottla.client.properties import InvalidProperty
    from ottla.registry.settings import read_settings

    try:
        return read_settings(given)
    except InvalidProperty as error:
        raise CommandError(str(error), ExitCode.USAGE, error.remedy) from error


def _announce(addresses: "list[ListenAddress]", settings: "RegistrySettings") -> None:
    """Say where everything is, once clients are served."""
    urls = [f"http://{one.host}:{one.port}" for one in addresses]
    print(f"Ottla's schema registry {__version__} is running.")
    for url in urls:
        print(f"  registry    {url}")
    print(f"  bootstrap   {settings.bootstrap}")
    print(f"  topic       {settings.instance.topic.name}")
    print("Press Ctrl-C to stop.", flush=True)
    tell_ready(os.environ, f"Serving {', '.join(urls)}")
