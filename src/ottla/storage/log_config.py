"""The settings of one log, with the meaning, units and defaults of Kafka's topic configurations."""

from dataclasses import dataclass, field

from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType

MAX_INT64 = 2**63 - 1
UNLIMITED = -1

DELETE = "delete"
COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Field `segment_bytes` is the topic configuration `segment.bytes`, and so on."""

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = UNLIMITED
    max_message_bytes: int = 1024 * 1024 + 12
    cleanup_policy: frozenset[str] = frozenset({DELETE})
    # None is `producer`: keep what the producer chose.
    compression_type: Codec | None = None
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = MAX_INT64
    message_timestamp_after_max_ms: int = 3600 * 1000
    delete_retention_ms: int = 24 * 3600 * 1000
    file_delete_delay_ms: int = 60 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_INT64
    min_cleanable_dirty_ratio: float = 0.5
    flush_messages: int = MAX_INT64
    flush_ms: int = MAX_INT64
    min_insync_replicas: int = 1
    preallocate: bool = False
    unclean_leader_election_enable: bool = False
    # A setting of the broker, not of the topic: how long an idle producer is remembered.
    producer_id_expiration_ms: int = 24 * 3600 * 1000
    # Another one, transaction.partition.verification.enable: whether a batch needs a guard to begin a transaction. Logs
    # without a broker around them have no coordinator to ask.
    transaction_verification_enabled: bool = False
    # Derived from the fields above once, because every append needs them.
    is_compacted: bool = field(init=False, repr=False, compare=False)
    # Whether a batch enters the log as its producer made it, unless the time in its header is too late, or is one that
    # only the broker may set.
    takes_batches_as_sent: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_compacted = COMPACT in self.cleanup_policy
        object.__setattr__(self, "is_compacted", is_compacted)
        object.__setattr__(
            self,
            "takes_batches_as_sent",
            not is_compacted
            and self.compression_type is None
            and self.message_timestamp_type is TimestampType.CREATE_TIME
            and self.message_timestamp_before_max_ms == MAX_INT64,
        )

    @property
    def deletes_old_segments(self) -> bool:
        return DELETE in self.cleanup_policy

    def compression_level(self, codec: Codec) -> int | None:
        """The configured level of a codec, None for codecs without levels."""
        return {
            Codec.GZIP: self.compression_gzip_level,
            Codec.LZ4: self.compression_lz4_level,
            Codec.ZSTD: self.compression_zstd_level,
        }.get(codec)
