"""Where a coordinator keeps its state: an internal topic, its partitions and their leaders, created on first use."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ottla.broker.coordinators.partition_log import CoordinatorLog
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.partitioning import partition_for
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.metadata.image import NO_LEADER, ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InternalTopicSpec:
    """The topic as it is to be created."""

    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


def offsets_topic_spec(config: GroupConfig) -> InternalTopicSpec:
    """How the topic is created: compacted, in small segments so that compaction and loading stay quick."""
    return InternalTopicSpec(
        OFFSETS_TOPIC,
        config.offsets_topic_num_partitions,
        config.offsets_topic_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


def transaction_topic_spec(config: TransactionConfig) -> InternalTopicSpec:
    """How the topic is created: compacted, never recompressed, and never led by a replica that lacks records."""
    return InternalTopicSpec(
        TRANSACTION_TOPIC,
        config.transaction_state_log_num_partitions,
        config.transaction_state_log_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )


class InternalTopic:
    """Finds the partition and the broker of a coordinator's key: a group id, a transactional id."""

    def __init__(
        self,
        spec: InternalTopicSpec,
        image: Callable[[], ClusterImage],
        create: Callable[[InternalTopicSpec], Awaitable[None]],
    ) -> None:
        """`create` may be called by several at once; an existing topic is no error to it."""
        self.spec = spec
        self._image = image
        self._create = create
        self._told: str | None = None

    def partition_of(self, key: str) -> int:
        """The partition that holds the key's state; before the topic exists, the one that will."""
        topic = self._image().topics.by_name(self.spec.name)
        count = self.spec.partition_count if topic is None else len(topic.partitions)
        return partition_for(key, count)

    async def leader_of(self, key: str) -> int:
        """The broker that coordinates the key; creates the topic on first use. Raises ApiError."""
        await self.ensure_exists()
        return self.known_leader_of(key)

    def known_leader_of(self, key: str) -> int:
        """The broker that coordinates the key; COORDINATOR_NOT_AVAILABLE if there is none, or no topic yet."""
        name = self.spec.name
        partition = self._image().topics.partition_of(name, self.partition_of(key))
        if partition is None or partition.leader == NO_LEADER:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} has no leader for {key!r} yet")
        return partition.leader

    async def ensure_exists(self) -> None:
        """Create the topic if it is not there; ApiError if that is refused."""
        if self._image().topics.by_name(self.spec.name) is not None:
            return
        try:
            await self._create(self.spec)
        except ApiError as error:
            if error.message != self._told:
                # Clients ask again and again; the log has one line.
                self._told = error.message
                logger.warning(
                    "%s, with %d replicas of each partition, cannot be created: %s",
                    self.spec.name,
                    self.spec.replication_factor,
                    error.message,
                )
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from error


@dataclass(frozen=True, slots=True)
class CoordinatorStore:
    """Where a coordinator keeps its state: its topic, and the logs of the topic's partitions on this broker."""

    topic: InternalTopic
    log: CoordinatorLog
