"""Topics with their settings, and the questions that operators ask about their partitions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.configs import ConfigEntry
    from ottla.client.admin.topics import PartitionDescription, TopicDescription


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic, its partitions and its settings."""

    topic: "TopicDescription"
    configs: "Mapping[str, ConfigEntry]"

    @property
    def changed_configs(self) -> dict[str, str | None]:
        """The settings that are not Kafka's defaults, wherever they were set."""
        return {name: entry.value for name, entry in self.configs.items() if not entry.is_default}

    @property
    def min_in_sync(self) -> int:
        """min.insync.replicas; 1 if the broker does not tell."""
        entry = self.configs.get("min.insync.replicas")
        return int(entry.value) if entry is not None and entry.value else 1


def is_under_replicated(partition: "PartitionDescription") -> bool:
    """Whether a replica is behind."""
    return len(partition.in_sync) < len(partition.replicas)


def is_unavailable(partition: "PartitionDescription", live_brokers: Iterable[int]) -> bool:
    """Whether nobody leads the partition."""
    return partition.leader_id not in live_brokers


def is_under_min_isr(partition: "PartitionDescription", min_in_sync: int) -> bool:
    """Whether writes with acks=all are refused."""
    return len(partition.in_sync) < min_in_sync


def is_at_min_isr(partition: "PartitionDescription", min_in_sync: int) -> bool:
    """Whether they would be after the loss of one more replica."""
    return len(partition.in_sync) == min_in_sync


async def topic_states(
    client: "Client", names: Iterable[str], *, partitions_per_response: int = 2000
) -> dict[str, TopicState]:
    """The topics of these names that exist, in the order of the names."""
    from ottla.client.admin.configs import ConfigResource, ResourceType

    described = await client.admin.describe_topics(names, partitions_per_response=partitions_per_response)
    found = {name: topic for name, topic in described.items() if topic.error is None}
    resources = {name: ConfigResource(ResourceType.TOPIC, name) for name in found}
    configs = await client.admin.describe_configs(resources.values(), include_synonyms=False) if resources else {}
    states = {}
    for name, topic in found.items():
        settings = configs[resources[name]]
        if settings.error is not None:
            raise settings.error
        states[name] = TopicState(topic, settings.entries)
    return states
