"""A cluster whose nodes fail: who leads, who decides, when everything is in sync again, and what is on the disks."""

from collections.abc import Iterable
from pathlib import Path

from harness.waiting import eventually
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster

IN_SYNC_TIMEOUT_S = 90.0


def leader_of(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> int:
    """The node that leads a partition; -1 if none does."""
    with Client(cluster.bootstrap_servers) as client:
        return client.admin.describe_topics([topic])[topic].partitions[partition].leader_id


def active_controller(cluster: EmbeddedCluster) -> int:
    with Client(cluster.bootstrap_servers) as client:
        return client.admin.describe_quorum().leader_id


def out_of_sync(cluster: EmbeddedCluster) -> list[str]:
    """Partitions of which not every replica is in sync."""
    with Client(cluster.bootstrap_servers) as client:
        names = [topic.name for topic in client.admin.list_topics(include_internal=True)]
        topics = client.admin.describe_topics(names) if names else {}
    return [
        f"{topic.name}-{one.partition}"
        for topic in topics.values()
        for one in topic.partitions
        if set(one.in_sync) != set(one.replicas)
    ]


def wait_until_in_sync(cluster: EmbeddedCluster) -> None:
    eventually(lambda: out_of_sync(cluster), lambda lagging: lagging == [], timeout_s=IN_SYNC_TIMEOUT_S)


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
