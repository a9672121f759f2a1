"""The asyncio shell around the group coordinator: runs the deadlines of its shards, writes their records."""

from ottla.broker.coordinators.groups.coordinator import GroupCoordinator
from ottla.coordinator.group.config import GroupConfig

__all__ = ["GroupConfig", "GroupCoordinator"]
