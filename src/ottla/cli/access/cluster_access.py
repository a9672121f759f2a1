"""How commands reach a cluster: the options that name it, and the client that they make.

A properties file (Java's names, or librdkafka's where they differ) is overridden by `-X`, and that by options with
names of their own.
"""

import argparse
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.cli.access.property_names import slip
from ottla.cli.access.retry_notices import RetryNotices
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error

if TYPE_CHECKING:
    from ottla.client import Client, ClientSettings

T = TypeVar("T")

BOOTSTRAP_VARIABLE: Final = "OTTLA_BOOTSTRAP_SERVERS"
DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"

# librdkafka's names for what has another name in Java.
_SYNONYMS: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "socket.timeout.ms": "request.timeout.ms",
}


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Where the cluster is, and the client properties given for it under Java's names."""

    bootstrap: str
    properties: Mapping[str, str]
    # Whether an error that says no more than that time is over is followed by what is wrong with the cluster, which
    # takes seconds to find out. Apache's tools do not tell it.
    explains: bool = False

    def settings(self) -> "ClientSettings":
        """The properties that concern every client."""
        from ottla.cli.access.client_properties import client_settings

        return client_settings(self.properties)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that name the cluster; they may stand before and after the command, so they have no defaults."""
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT[,...]",
        default=argparse.SUPPRESS,
        help=f"brokers to ask first (environment: {BOOTSTRAP_VARIABLE}; default {DEFAULT_BOOTSTRAP})",
    )
    add_property_options(group)


def add_property_options(group: argparse._ArgumentGroup) -> None:
    """The options that set a client's properties, with those of the registry among them."""
    group.add_argument(
        "--client-config", metavar="FILE", default=argparse.SUPPRESS, help="client properties in Java's format"
    )
    group.add_argument(
        "-X",
        dest="client_properties",
        metavar="KEY=VALUE",
        action="append",
        default=argparse.SUPPRESS,
        help="one client property; repeatable",
    )


def cluster_access(options: argparse.Namespace) -> ClusterAccess:
    """Read from the options of a command how to reach the cluster."""
    return replace(access(getattr(options, "bootstrap_server", None), given_properties(options)), explains=True)


def given_properties(options: argparse.Namespace) -> dict[str, str]:
    """The client's properties, of a file and of options."""
    properties: dict[str, str] = {}
    if (path := getattr(options, "client_config", None)) is not None:
        properties.update(properties_of_file(path))
    for given in getattr(options, "client_properties", ()):
        name, separator, value = given.partition("=")
        if not separator:
            raise UsageError(f"-X {given}: write KEY=VALUE, as in -X client.id=audit.")
        if (meant := slip(name.strip())) is not None:
            # Without the value, which may be a password.
            print(f"ottla: warning: -X {name.strip()} is ignored: did you mean {meant}?", file=sys.stderr)
        properties[name.strip()] = value.strip()
    return properties


def access(bootstrap: str | None, properties: Mapping[str, str]) -> ClusterAccess:
    """Choose the cluster: of an option, else of the properties, else of the environment, else of this machine."""
    known = {_SYNONYMS.get(name, name): value for name, value in properties.items()}
    found = bootstrap or known.get("bootstrap.servers") or os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP
    return ClusterAccess(found, known)


def properties_of_file(path: str) -> dict[str, str]:
    """Load a client's properties file."""
    from ottla.config.properties_file import load_properties
    from ottla.config.values import ConfigError

    try:
        return load_properties(Path(path))
    except ConfigError as error:
        raise UsageError(str(error)) from error


def with_client(cluster: ClusterAccess, work: "Callable[[Client], Awaitable[T]]") -> T:
    """Do work with a client of the cluster; what the client reports becomes an error of the command."""
    from ottla.cli.interruption import run_interruptibly
    from ottla.client import Client, ClientError
    from ottla.client.addresses import parse_addresses

    settings = replace(cluster.settings(), on_retry=RetryNotices())
    try:
        addresses = parse_addresses(cluster.bootstrap)
    except ValueError as error:
        raise UsageError(str(error)) from error

    async def run() -> T:
        async with Client(map(str, addresses), settings) as client:
            try:
                return await work(client)
            except ClientError as error:
                failed = command_error(error)
                await explain(client, failed)
                raise failed from error
            except CommandError as failed:
                await explain(client, failed)
                raise

    async def explain(client: Client, failed: CommandError) -> None:
        if cluster.explains and failed.code == ExitCode.UNAVAILABLE and failed.remedy is None:
            failed.remedy = await _explanation(client)

    try:
        return run_interruptibly(run())
    except ClientError as error:
        raise command_error(error) from error


async def _explanation(client: "Client") -> str | None:
    from ottla.cli.access.cluster_trouble import find_trouble

    found = await find_trouble(client)
    remedy = found.remedy()
    return None if remedy is None else "\n  ".join((*(f"{finding}." for finding in found.findings()), remedy))
