"""The broker configuration that groups and their offsets depend on: Kafka's names, with Kafka 4.3's defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One value of each `group.*` and `offset*.*` setting; an attribute is the setting's name with underscores."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2**31 - 1
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    offsets_commit_timeout_ms: int = 5_000
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_topic_segment_bytes: int = 104_857_600
    # The number that record batches have for the codec; 0 is none.
    offsets_topic_compression_codec: int = 0

    @property
    def offsets_retention_ms(self) -> int:
        """`offsets.retention.minutes` in milliseconds."""
        return self.offsets_retention_minutes * 60_000
