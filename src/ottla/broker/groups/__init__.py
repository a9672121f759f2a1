"""The asyncio shell around the group coordinator: loads shards, runs their deadlines, writes their records."""

from ottla.broker.groups.coordinator import GroupCoordinator
from ottla.broker.groups.log import CoordinatorLog
from ottla.broker.groups.offsets_topic import OffsetsTopic, OffsetsTopicSpec
from ottla.coordinator.group.config import GroupConfig

__all__ = ["CoordinatorLog", "GroupConfig", "GroupCoordinator", "OffsetsTopic", "OffsetsTopicSpec"]
