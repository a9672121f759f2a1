"""`ottla cluster describe`: brokers, controller, metadata quorum, features and log directories.

The verbs of a cluster on this machine are in `local`.
"""

import argparse
from typing import TYPE_CHECKING, TypeVar

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.cluster.local import command as local
from ottla.cli.exits import ExitCode
from ottla.cli.output import OutputFormat, Row, print_object, print_rows
from ottla.cli.verbs import Verbs, output_format

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ottla.client import Client
    from ottla.client.admin.brokers import ClusterDescription, LogDirDescription, QuorumDescription

T = TypeVar("T")

_BROKER_COLUMNS = ("id", "host", "port", "rack", "fenced")
_REPLICA_COLUMNS = (
    "id",
    "directory_id",
    "status",
    "log_end_offset",
    "lag",
    "last_fetch_ms",
    "last_caught_up_ms",
    "endpoints",
)
_FEATURE_COLUMNS = ("feature", "min_supported", "max_supported", "finalized", "release")
_LOG_DIR_COLUMNS = ("broker", "path", "replicas", "size_bytes", "usable_bytes", "total_bytes", "cordoned", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of the cluster."""
    verbs = Verbs(parser)
    verbs.add(
        "describe",
        describe_cluster,
        "describe brokers, controller, metadata quorum, features and log directories",
        epilog="example: ottla cluster describe -o json | jq .brokers",
    )
    local.add_verbs(verbs)


def describe_cluster(options: argparse.Namespace) -> int:
    """Describe the cluster as a whole; what an old broker cannot tell is null."""
    described = with_client(cluster_access(options), _describe)
    shape = output_format(options)
    if shape is not OutputFormat.TABLE:
        print_object(shape, described)
        return ExitCode.DONE
    parts = {"brokers": _BROKER_COLUMNS, "quorum": (), "features": _FEATURE_COLUMNS, "log_dirs": _LOG_DIR_COLUMNS}
    print_object(shape, {name: value for name, value in described.items() if name not in parts})
    for name, columns in parts.items():
        part = described[name]
        if isinstance(part, list):
            _print_part(name, columns, part)
        elif isinstance(part, dict):
            summary = {key: value for key, value in part.items() if key != "replicas"}
            print(f"\n{name.upper()}")
            print_object(shape, summary)
            _print_part("quorum replicas", _REPLICA_COLUMNS, part["replicas"])
    return ExitCode.DONE


def _print_part(name: str, columns: tuple[str, ...], rows: list[Row]) -> None:
    print(f"\n{name.replace('_', ' ').upper()}")
    print_rows(OutputFormat.TABLE, columns, rows)


async def _describe(client: "Client") -> dict[str, object]:
    cluster = await _told(client.admin.describe_cluster(include_fenced=True))
    if cluster is None:
        cluster = await client.admin.describe_cluster()
    quorum = await _told(client.admin.describe_quorum())
    log_dirs = await _told(client.admin.describe_log_dirs())
    return {
        "cluster_id": cluster.cluster_id,
        # Clients may send changes to any broker, so the controller that they are given is not the active one.
        "controller": quorum.leader_id if quorum is not None else cluster.controller_id,
        "brokers": _brokers(cluster),
        "quorum": None if quorum is None else _quorum(quorum),
        "features": await _features(client),
        "log_dirs": None if log_dirs is None else _log_dirs(log_dirs),
    }


async def _told(answer: "Awaitable[T]") -> T | None:
    """What a broker tells if it knows the question."""
    from ottla.client.errors import UnsupportedByBroker

    try:
        return await answer
    except UnsupportedByBroker:
        return None


def _brokers(cluster: "ClusterDescription") -> list[Row]:
    return [
        {
            "id": broker.node_id,
            "host": broker.address.host,
            "port": broker.address.port,
            "rack": broker.rack,
            "fenced": broker.is_fenced,
        }
        for broker in cluster.brokers
    ]


def _quorum(quorum: "QuorumDescription") -> dict[str, object]:
    from ottla.cli.cluster.quorum_report import follower_lag, replicas_of
    from ottla.protocol.uuids import uuid_to_text

    lag, lag_ms = follower_lag(quorum)
    replicas = [
        {
            "id": row.replica.replica_id,
            "directory_id": uuid_to_text(row.replica.directory_id),
            "status": row.status.lower(),
            "log_end_offset": row.replica.log_end_offset,
            "lag": row.lag,
            "last_fetch_ms": row.replica.last_fetch_ms,
            "last_caught_up_ms": row.replica.last_caught_up_ms,
            "endpoints": [
                f"{name}://{address}" for name, address in quorum.nodes.get(row.replica.replica_id, {}).items()
            ],
        }
        for row in replicas_of(quorum)
    ]
    return {
        "leader": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "max_follower_lag": lag,
        "max_follower_lag_ms": lag_ms,
        "replicas": replicas,
    }


async def _features(client: "Client") -> list[Row]:
    from ottla.cli.words.feature_levels import METADATA_VERSION, release_of

    return [
        {
            "feature": feature.name,
            "min_supported": feature.min_supported,
            "max_supported": feature.max_supported,
            "finalized": feature.finalized,
            "release": release_of(feature.finalized) if feature.name == METADATA_VERSION else None,
        }
        for feature in await client.admin.describe_features()
    ]


def _log_dirs(described: "dict[int, tuple[LogDirDescription, ...]]") -> list[Row]:
    return [
        {
            "broker": broker_id,
            "path": directory.path,
            "replicas": len(directory.replicas),
            "size_bytes": sum(replica.size_bytes for replica in directory.replicas.values()),
            "usable_bytes": directory.usable_bytes if directory.usable_bytes >= 0 else None,
            "total_bytes": directory.total_bytes if directory.total_bytes >= 0 else None,
            "cordoned": directory.is_cordoned,
            "error": None if directory.error is None else str(directory.error),
        }
        for broker_id, directories in described.items()
        for directory in directories
    ]
