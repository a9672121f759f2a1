"""Where groups live: `__consumer_offsets`, its partitions and their leaders, created when it is first needed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.partitioning import partition_for
from ottla.metadata.image import NO_LEADER, ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode

OFFSETS_TOPIC = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class OffsetsTopicSpec:
    """The topic as it is to be created."""

    name: str
    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


class OffsetsTopic:
    """Finds the partition and the broker of a group."""

    def __init__(
        self,
        config: GroupConfig,
        image: Callable[[], ClusterImage],
        create: Callable[[OffsetsTopicSpec], Awaitable[None]],
    ) -> None:
        self._config = config
        self._image = image
        self._create = create
        self._creating: asyncio.Lock = asyncio.Lock()

    def partition_of(self, group_id: str) -> int:
        """The partition that holds the group; before the topic exists, the one that will."""
        topic = self._image().topics.by_name(OFFSETS_TOPIC)
        count = self._config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
        return partition_for(group_id, count)

    async def leader_of(self, group_id: str) -> int:
        """The node that coordinates the group; creates the topic on first use. Raises ApiError."""
        await self._ensure_exists()
        topic = self._image().topics.by_name(OFFSETS_TOPIC)
        partition = None if topic is None else topic.partition(self.partition_of(group_id))
        if partition is None or partition.leader == NO_LEADER:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} has no leader for {group_id!r} yet")
        return partition.leader

    async def _ensure_exists(self) -> None:
        if self._image().topics.by_name(OFFSETS_TOPIC) is not None:
            return
        async with self._creating:
            if self._image().topics.by_name(OFFSETS_TOPIC) is not None:
                return
            try:
                await self._create(self.spec())
            except ApiError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from error

    def spec(self) -> OffsetsTopicSpec:
        """How the topic is created: compacted, in small segments so that compaction and loading stay quick."""
        return OffsetsTopicSpec(
            OFFSETS_TOPIC,
            self._config.offsets_topic_num_partitions,
            self._config.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(self._config.offsets_topic_segment_bytes),
            },
        )
