"""The topic of groups and their offsets."""

from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.coordinator.group.config import GroupConfig

OFFSETS_TOPIC = "__consumer_offsets"


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
