"""What a cluster says about the replicas of its topics.

Any broker is asked, and one may hear of a change a moment after another one. Of a topic that it does not know yet it is
asked again.
"""

from collections.abc import Sequence

from harness.waiting import eventually
from ottla.client.admin.topics import PartitionDescription
from ottla.client.sync import Client

IN_SYNC_TIMEOUT_S = 90.0


def partitions_of(client: Client, topic: str) -> Sequence[PartitionDescription]:
    return eventually(lambda: client.admin.describe_topics([topic])[topic].partitions)


def leader_of(bootstrap: str, topic: str, partition: int = 0) -> int:
    """The broker that leads a partition; -1 if none does."""
    with Client(bootstrap) as client:
        return partitions_of(client, topic)[partition].leader_id


def wait_until_known(bootstrap: str, topics: Sequence[str]) -> None:
    """Returns when every broker that is named has heard of the topics."""
    for address in bootstrap.split(","):
        with Client(address) as client:
            for topic in topics:
                partitions_of(client, topic)


def wait_until_in_sync(bootstrap: str) -> None:
    """Returns when every replica of every partition is in sync."""
    eventually(lambda: _out_of_sync(bootstrap), lambda lagging: lagging == [], timeout_s=IN_SYNC_TIMEOUT_S)


def _out_of_sync(bootstrap: str) -> list[str]:
    with Client(bootstrap) as client:
        names = [topic.name for topic in client.admin.list_topics(include_internal=True)]
        topics = client.admin.describe_topics(names) if names else {}
    return [
        f"{topic.name}-{one.partition}"
        for topic in topics.values()
        for one in topic.partitions
        if one.leader_id < 0 or set(one.in_sync) != set(one.replicas)
    ]
