"""A cluster of three nodes whose nodes fail: who leads, who decides, and when everything is in sync again."""

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
