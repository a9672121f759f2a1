"""`ottla registry`: from a command line to a running schema registry."""

import argparse
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla import __version__
from ottla.cli.access import cluster_access
from ottla.cli.access.retry_notices import RetryNotices
from ottla.cli.exits import CommandError, ExitCode, command_error
from ottla.cli.server.service_manager import tell_ready
from ottla.cli.service_log import start_logging
from ottla.cli.words.addresses import add_metrics_option, metrics_address
from ottla.cli.words.overrides import add_override_option, apply_overrides

if TYPE_CHECKING:
    from ottla.client.retries import Retry
    from ottla.registry.settings import ListenAddress, RegistrySettings

_BOOTSTRAP: Final = "kafkastore.bootstrap.servers"
# Without a file nobody has thought of who may connect.
_LOCAL_DEFAULTS: Final = {"listeners": "http://127.0.0.1:8081", "host.name": "127.0.0.1"}
_NO_BROKERS: Final = (
    "kafkastore.bootstrap.servers (or -b) names the brokers to ask first. On this machine `ottla server` starts a node."
)
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
    add_metrics_option(parser)
    cluster_access.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a registry until it is told to stop; the value is the exit code."""
    import asyncio

    from ottla.client import ClientError
    from ottla.client.event_loop import event_loop_class
    from ottla.config.values import ConfigError
    from ottla.metrics.errors import PageUnservable

    page = None if options.metrics is None else metrics_address(options.metrics)
    try:
        from ottla.registry.metrics.registry_metrics import RegistryMetrics
        from ottla.registry.schemas_topic import UnusableTopic
        from ottla.registry.server import ListenFailed, StoreUnreachable, run_registry
        from ottla.registry.settings import read_settings, settings_without_effect
    except ModuleNotFoundError as error:
        raise CommandError(f"{_MISSING} ({error.name})") from None
    try:
        given = _properties(options)
        settings = read_settings(given)
        settings = replace(settings, client=replace(settings.client, on_retry=_tell_retry(RetryNotices())))
        start_logging()
        for line in settings_without_effect(given):
            logger.warning("%s", line)
        metrics = None if page is None else RegistryMetrics(page)

        def announce(addresses: "list[ListenAddress]") -> None:
            _announce(addresses, settings, None if metrics is None else metrics.url)

        with asyncio.Runner(loop_factory=event_loop_class()) as runner:
            runner.run(run_registry(settings, announce, metrics))
    except (ConfigError, ListenFailed, PageUnservable, UnusableTopic) as error:
        raise CommandError(str(error)) from error
    except StoreUnreachable as error:
        raise CommandError(str(error), ExitCode.UNAVAILABLE, _NO_BROKERS) from error
    except ClientError as error:
        raise command_error(error) from error
    except KeyboardInterrupt:
        # Ctrl-C before the registry has taken over signals.
        pass
    return ExitCode.DONE


def _properties(options: argparse.Namespace) -> dict[str, str]:
    """What file and switches say together; an override beats a switch, a switch beats the file."""
    from ottla.config.properties_file import load_properties

    access = cluster_access.cluster_access(options)
    given = dict(_LOCAL_DEFAULTS) if options.properties is None else load_properties(Path(options.properties))
    if getattr(options, "bootstrap_server", None) is not None or not given.get(_BOOTSTRAP, "").strip():
        given[_BOOTSTRAP] = access.bootstrap
    given |= {f"kafkastore.{name}": text for name, text in access.properties.items() if name != "bootstrap.servers"}
    apply_overrides(options, given, "schema.compatibility.level=FULL")
    return given


def _tell_retry(notices: RetryNotices) -> "Callable[[Retry], None]":
    """Whom the registry waits for, in its log."""

    def tell(retry: "Retry") -> None:
        line = notices.notice(retry, time.monotonic())
        if line is not None:
            logger.warning("%s", line)

    return tell


def _announce(addresses: "list[ListenAddress]", settings: "RegistrySettings", metrics_url: str | None) -> None:
    """Say where everything is, once clients are served."""
    urls = [one.url for one in addresses]
    print(f"Ottla's schema registry {__version__} is running.")
    for url in urls:
        print(f"  registry    {url}")
    if metrics_url is not None:
        print(f"  metrics     {metrics_url}")
    print(f"  bootstrap   {settings.bootstrap}")
    print(f"  topic       {settings.instance.topic.name}")
    print("Press Ctrl-C to stop.", flush=True)
    tell_ready(os.environ, f"Serving {', '.join(urls)}")
