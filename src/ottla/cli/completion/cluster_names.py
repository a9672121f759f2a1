"""Names that only the cluster or a schema registry knows, for completion: at once or not at all.

The user waits with a finger on the key. So one that is slow, absent or closed to us gives no names, and no message
either: nothing printed while a line is being edited would help.
"""

import argparse
import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.cli.access.cluster_access import ClusterAccess
    from ottla.client import Client

TIMEOUT_VARIABLE: Final = "OTTLA_COMPLETION_TIMEOUT_MS"
_DEFAULT_TIMEOUT_MS: Final = 1_500.0

Ask = Callable[["Client"], Awaitable[list[str]]]


def topic_names(*, prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """List the topics; internal ones only if the user has begun to write one."""

    async def ask(client: "Client") -> list[str]:
        topics = await client.admin.list_topics(include_internal=prefix.startswith("_"))
        return [topic.name for topic in topics]

    return _asked(parsed_args, ask)


def group_names(*, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The groups there are."""

    async def ask(client: "Client") -> list[str]:
        return [group.group_id for group in await client.admin.list_groups()]

    return _asked(parsed_args, ask)


def subject_names(*, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """The subjects of the registry."""

    def ask() -> list[str]:
        from ottla.cli.access.cluster_access import given_properties
        from ottla.cli.access.registry_access import registry_or_default
        from ottla.schemas.registry_client.registry_client import RegistryClient

        settings = registry_or_default(parsed_args, given_properties(parsed_args))
        with RegistryClient(replace(settings, retries_max=0)) as client:
            return client.subjects()

    return _in_time(ask)


def _asked(options: argparse.Namespace, ask: Ask) -> list[str]:
    return _in_time(lambda: asyncio.run(_ask(_access(options), ask)))


def _in_time(ask: Callable[[], list[str]]) -> list[str]:
    found: list[str] = []

    def work() -> None:
        with contextlib.suppress(Exception):
            found.extend(ask())

    # In a thread that may be left behind: a name server that does not answer cannot be interrupted.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_timeout_ms() / 1000)
    return list(found)


def _timeout_ms() -> float:
    """How long to wait for the cluster; distant clusters may need longer."""
    try:
        return float(os.environ[TIMEOUT_VARIABLE])
    except (KeyError, ValueError):
        return _DEFAULT_TIMEOUT_MS


async def _ask(cluster: "ClusterAccess", ask: Ask) -> list[str]:
    from ottla.client import Client

    async with Client(cluster.bootstrap, cluster.settings()) as client:
        return await ask(client)


def _access(options: argparse.Namespace) -> "ClusterAccess":
    """The cluster of a line that is not complete yet, of ours or of one of Apache's tools."""
    from ottla.cli.access.cluster_access import access, cluster_access, properties_of_file

    path = getattr(options, "command_config", None)
    if path is None:
        return cluster_access(options)
    return access(getattr(options, "bootstrap_server", None), properties_of_file(path))
