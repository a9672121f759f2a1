"""What changed between two images, so that those who follow the metadata need not compare them.

A delta names everything that differs, wherever it comes from: records applied one by one (`ImageBuilder`), several
deltas in a row (`merge`), or a snapshot that replaced the log (`difference`). Those who follow the metadata need not
know which of these it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.metadata.image.cluster import ClusterImage
from ottla.metadata.image.configs import Resource, ResourceType
from ottla.protocol.topic_partition import TopicIdPartition


@dataclass(slots=True)
class ImageDelta:
    created_topics: set[bytes] = field(default_factory=set)
    deleted_topics: dict[bytes, str] = field(default_factory=dict)
    changed_partitions: set[TopicIdPartition] = field(default_factory=set)
    changed_configs: set[Resource] = field(default_factory=set)
    changed_brokers: set[int] = field(default_factory=set)
    features_changed: bool = False
    producer_ids_changed: bool = False
    kept_records_changed: bool = False

    @property
    def changed_topics(self) -> list[bytes]:
        """Topics that exist and were created or had a partition changed, in an order that can be repeated."""
        return sorted(self.created_topics | {topic_id for topic_id, _ in self.changed_partitions})

    @property
    def is_empty(self) -> bool:
        return not (
            self.created_topics
            or self.deleted_topics
            or self.changed_partitions
            or self.changed_configs
            or self.changed_brokers
            or self.features_changed
            or self.producer_ids_changed
            or self.kept_records_changed
        )

    def remove_topic(self, topic_id: bytes, name: str) -> None:
        """Note that a topic is deleted. One that was created in this delta never existed for those who follow it."""
        if topic_id in self.created_topics:
            self.created_topics.discard(topic_id)
        else:
            self.deleted_topics[topic_id] = name
        self.changed_partitions = {key for key in self.changed_partitions if key[0] != topic_id}
        self.changed_configs.discard((ResourceType.TOPIC, name))

    def merge(self, later: ImageDelta) -> None:
        """Add what changed after this delta; for a reader that did not keep up."""
        for topic_id, name in later.deleted_topics.items():
            self.remove_topic(topic_id, name)
        self.created_topics |= later.created_topics
        self.changed_partitions |= later.changed_partitions
        self.changed_configs |= later.changed_configs
        self.changed_brokers |= later.changed_brokers
        self.features_changed |= later.features_changed
        self.producer_ids_changed |= later.producer_ids_changed
        self.kept_records_changed |= later.kept_records_changed


def difference(old: ClusterImage, new: ClusterImage) -> ImageDelta:
    """What changed from one image to another, found by comparison: for an image that did not come from records."""
    before = {topic.id: topic for topic in old.topics}
    after = {topic.id: topic for topic in new.topics}
    deleted = {topic_id: topic.name for topic_id, topic in before.items() if topic_id not in after}
    gone = {(ResourceType.TOPIC, name) for name in deleted.values() if new.topics.by_name(name) is None}
    resources = {*old.configs.resources(), *new.configs.resources()} - gone
    return ImageDelta(
        created_topics=after.keys() - before.keys(),
        deleted_topics=deleted,
        changed_partitions={
            (topic_id, index)
            for topic_id, topic in after.items()
            for index, state in topic.partitions.items()
            if topic_id not in before or before[topic_id].partition(index) != state
        },
        changed_configs={resource for resource in resources if old.configs.of(*resource) != new.configs.of(*resource)},
        changed_brokers={
            broker.id
            for broker in (*old.brokers, *new.brokers)
            if old.brokers.get(broker.id) != new.brokers.get(broker.id)
        },
        features_changed=old.features != new.features,
        producer_ids_changed=old.producer_ids != new.producer_ids,
        kept_records_changed=old.kept != new.kept,
    )
