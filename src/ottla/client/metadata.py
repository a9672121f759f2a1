"""The client's picture of the cluster: brokers, topics with their ids, and who leads which partition since when.

Pure. The picture is built from Metadata answers and from the hints that brokers give with NOT_LEADER errors (KIP-951).
A partition never goes back to an older leader epoch, because an answer may come from a broker that is behind (KIP-320);
the exception is a topic that was deleted and created again, which its id shows.
"""

from dataclasses import dataclass, replace

from ottla.client.addresses import Address
from ottla.client.errors import KafkaError, error_of
from ottla.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import ZERO_UUID

NO_NODE = -1


@dataclass(frozen=True, slots=True)
class Node:
    """A broker as clients reach it."""

    node_id: int
    address: Address
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """Who holds a partition."""

    partition: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...] = ()
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic and its partitions by number."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: dict[int, PartitionInfo]
    error: KafkaError | None = None


class MetadataCache:
    """What the last answers said."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = NO_NODE
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, TopicInfo] = {}
        self._names: dict[bytes, str] = {}

    def update(self, response: MetadataResponse, *, is_complete: bool = False) -> None:
        """Apply an answer; a complete one also shows which topics are gone."""
        self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id
        self.nodes = {row.node_id: Node(row.node_id, Address(row.host, row.port), row.rack) for row in response.brokers}
        topics = {} if is_complete else dict(self.topics)
        for row in response.topics:
            if row.name is not None:
                topics[row.name] = self._merge(self.topics.get(row.name), _topic_info(row))
        self.topics = topics
        self._names = {topic.topic_id: name for name, topic in topics.items() if topic.topic_id != ZERO_UUID}

    def forget_topic(self, name: str) -> None:
        """Forget a topic that is known to be gone."""
        topic = self.topics.pop(name, None)
        if topic is not None:
            self._names.pop(topic.topic_id, None)

    def hint_leader(self, partition: TopicPartition, leader_id: int, leader_epoch: int, nodes: list[Node]) -> bool:
        """Note the leader that a broker named; returns whether that was new."""
        info = self.partition(partition)
        if info is None or leader_id < 0 or leader_epoch <= info.leader_epoch:
            return False
        self.nodes = self.nodes | {node.node_id: node for node in nodes}
        if leader_id not in self.nodes:
            return False
        topic = self.topics[partition.topic]
        changed = replace(info, leader_id=leader_id, leader_epoch=leader_epoch, error=None)
        partitions = topic.partitions | {partition.partition: changed}
        self.topics[partition.topic] = replace(topic, partitions=partitions)
        return True

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        topic = self.topics.get(partition.topic)
        return topic.partitions.get(partition.partition) if topic else None

    def leader(self, partition: TopicPartition) -> Node | None:
        """The broker that leads a partition; None if that is not known or there is none."""
        info = self.partition(partition)
        return self.nodes.get(info.leader_id) if info else None

    def topic_id(self, name: str) -> bytes:
        """A topic's id; zeros if the cluster gives none."""
        topic = self.topics.get(name)
        return topic.topic_id if topic else ZERO_UUID

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    @staticmethod
    def _merge(known: TopicInfo | None, new: TopicInfo) -> TopicInfo:
        if known is None or known.topic_id != new.topic_id:
            return new
        partitions = {
            number: old
            if (old := known.partitions.get(number)) is not None and old.leader_epoch > info.leader_epoch >= 0
            else info
            for number, info in new.partitions.items()
        }
        return replace(new, partitions=partitions)


def _topic_info(row: MetadataResponseTopic) -> TopicInfo:
    partitions = {
        partition.partition_index: PartitionInfo(
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
            tuple(partition.replica_nodes),
            tuple(partition.isr_nodes),
            tuple(partition.offline_replicas),
            error_of(partition.error_code),
        )
        for partition in sorted(row.partitions, key=lambda partition: partition.partition_index)
    }
    return TopicInfo(row.name or "", bytes(row.topic_id), row.is_internal, partitions, error_of(row.error_code))
