"""A cluster whose nodes fail: who decides, and what is on the disks."""

from collections.abc import Iterable
from pathlib import Path

from harness.replicas import IN_SYNC_TIMEOUT_S
from harness.waiting import eventually
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster


def active_controller(cluster: EmbeddedCluster) -> int:
    with Client(cluster.bootstrap_servers) as client:
        return client.admin.describe_quorum().leader_id


def data_of(cluster: EmbeddedCluster, node: int) -> Path:
    """Where a node of several has its logs."""
    return cluster.data_directory / f"node-{node}" / "data"


def wait_until_equal(cluster: EmbeddedCluster, topics: Iterable[str]) -> None:
    """Returns when the replicas of each partition are equal, byte for byte; every node has one, and nobody writes."""
    directories = [path.name for topic in topics for path in data_of(cluster, 1).glob(f"{topic}-[0-9]*")]
    assert directories
    eventually(
        lambda: [name for name in directories if len({_log(cluster, node, name) for node in cluster.nodes}) > 1],
        lambda unequal: unequal == [],
        timeout_s=IN_SYNC_TIMEOUT_S,
    )


def _log(cluster: EmbeddedCluster, node: int, directory: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((data_of(cluster, node) / directory).glob("*.log")))
