"""The topic of transactions."""

from ottla.broker.coordinators.internal_topic import InternalTopicSpec
from ottla.coordinator.transaction.config import TransactionConfig

TRANSACTION_TOPIC = "__transaction_state"


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
