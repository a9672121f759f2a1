"""All topic configs of Kafka 4.3, and the broker configs that give them their defaults.

A topic without a value of its own takes the broker's. Where a broker config exists in several units the finest one that
is given wins, so `log.retention.minutes` beats `log.retention.hours`. Four configs have no broker synonym at all.
"""

from dataclasses import dataclass
from typing import Final

from ottla.config.definition import ConfigDef, ConfigKey, Importance, Standing
from ottla.config.validators import GzipLevel, ListOf, OneOf, Range, ThrottledReplicas
from ottla.config.values import LONG_MAX, ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "segment.bytes",
        ConfigType.INT,
        1_073_741_824,
        Importance.MEDIUM,
        "Size at which a segment is closed and a new one begun.",
        validator=Range(1_048_576),
    ),
    ConfigKey(
        "segment.ms",
        ConfigType.LONG,
        604_800_000,
        Importance.MEDIUM,
        "Age at which a segment is closed although it is not full, so that retention and compaction can reach it.",
        validator=Range(1),
    ),
    ConfigKey(
        "segment.jitter.ms",
        ConfigType.LONG,
        0,
        Importance.MEDIUM,
        "Random time taken off the roll age, so that segments do not all roll at once.",
        validator=Range(0),
    ),
    ConfigKey(
        "segment.index.bytes",
        ConfigType.INT,
        10_485_760,
        Importance.MEDIUM,
        "Largest size of an offset or time index file of this topic.",
        validator=Range(4),
    ),
    ConfigKey(
        "flush.messages",
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        "Records appended to a partition before they are forced to disk.",
        validator=Range(1),
    ),
    ConfigKey(
        "flush.ms",
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        "Time records may stay in memory before they are forced to disk.",
        validator=Range(0),
    ),
    ConfigKey(
        "retention.bytes",
        ConfigType.LONG,
        -1,
        Importance.MEDIUM,
        "Size of a partition beyond which its oldest segments are deleted; -1 sets no limit.",
    ),
    ConfigKey(
        "retention.ms",
        ConfigType.LONG,
        604_800_000,
        Importance.MEDIUM,
        "Time records are kept before their segment may be deleted; -1 keeps them for ever.",
        validator=Range(-1),
    ),
    ConfigKey(
        "max.message.bytes",
        ConfigType.INT,
        1_048_588,
        Importance.MEDIUM,
        "Largest record batch accepted, measured after compression.",
        validator=Range(0),
    ),
    ConfigKey(
        "index.interval.bytes",
        ConfigType.INT,
        4096,
        Importance.MEDIUM,
        "Bytes of log between two entries of the offset index.",
        validator=Range(0),
    ),
    ConfigKey(
        "delete.retention.ms",
        ConfigType.LONG,
        86_400_000,
        Importance.MEDIUM,
        "Time that deletion markers stay in a compacted log after cleaning, so that slow readers still see them.",
        validator=Range(0),
    ),
    ConfigKey(
        "min.compaction.lag.ms",
        ConfigType.LONG,
        0,
        Importance.MEDIUM,
        "Time a record is safe from compaction.",
        validator=Range(0),
    ),
    ConfigKey(
        "max.compaction.lag.ms",
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        "Time after which a record has to be compacted although the log is not dirty enough.",
        validator=Range(1),
    ),
    ConfigKey(
        "file.delete.delay.ms",
        ConfigType.LONG,
        60_000,
        Importance.MEDIUM,
        "Time between a segment's removal from the log and the deletion of its files.",
        validator=Range(0),
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio",
        ConfigType.DOUBLE,
        0.5,
        Importance.MEDIUM,
        "Share of uncleaned bytes in the log from which on it is worth cleaning.",
        validator=Range(0, 1),
    ),
    ConfigKey(
        "cleanup.policy",
        ConfigType.LIST,
        ("delete",),
        Importance.MEDIUM,
        "What happens to old records: `delete` by time and size, `compact` to the latest per key, or both; "
        "an empty list keeps all.",
        validator=ListOf(("compact", "delete")),
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether a replica outside the in-sync set may lead when no other is left, at the price of lost records.",
    ),
    ConfigKey(
        "min.insync.replicas",
        ConfigType.INT,
        1,
        Importance.MEDIUM,
        "Replicas that must be in sync for a write with acks=all to be accepted; all of them if there are fewer.",
        validator=Range(1),
    ),
    ConfigKey(
        "compression.type",
        ConfigType.STRING,
        "producer",
        Importance.MEDIUM,
        "Compression of stored batches; `producer` keeps what the producer chose.",
        validator=OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
    ),
    ConfigKey(
        "compression.gzip.level",
        ConfigType.INT,
        -1,
        Importance.MEDIUM,
        "Level used when batches are recompressed with gzip; -1 is the library's default.",
        validator=GzipLevel(),
    ),
    ConfigKey(
        "compression.lz4.level",
        ConfigType.INT,
        9,
        Importance.MEDIUM,
        "Level used when batches are recompressed with lz4.",
        validator=Range(1, 17),
    ),
    ConfigKey(
        "compression.zstd.level",
        ConfigType.INT,
        3,
        Importance.MEDIUM,
        "Level used when batches are recompressed with zstd.",
        validator=Range(-131_072, 22),
    ),
    ConfigKey(
        "preallocate",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether space for all of a new segment is set aside on the disk at once.",
    ),
    ConfigKey(
        "message.timestamp.type",
        ConfigType.STRING,
        "CreateTime",
        Importance.MEDIUM,
        "Whether records carry the time their producer set or the time the broker appended them.",
        validator=OneOf(("CreateTime", "LogAppendTime")),
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        "How far a record's timestamp may lie in the past before it is refused.",
        validator=Range(0),
    ),
    ConfigKey(
        "message.timestamp.after.max.ms",
        ConfigType.LONG,
        3_600_000,
        Importance.MEDIUM,
        "How far a record's timestamp may lie in the future before it is refused.",
        validator=Range(0),
    ),
    ConfigKey(
        "leader.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        Importance.MEDIUM,
        "Replicas throttled on the leader's side, as partition:broker pairs or `*` for all.",
        validator=ThrottledReplicas(),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "follower.replication.throttled.replicas",
        ConfigType.LIST,
        (),
        Importance.MEDIUM,
        "Replicas throttled on the follower's side, as partition:broker pairs or `*` for all.",
        validator=ThrottledReplicas(),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "remote.storage.enable",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether old segments of this topic go to remote storage.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "local.retention.ms",
        ConfigType.LONG,
        -2,
        Importance.MEDIUM,
        "Time that segments already copied to remote storage stay on local disk; -2 follows `retention.ms`.",
        validator=Range(-2),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "local.retention.bytes",
        ConfigType.LONG,
        -2,
        Importance.MEDIUM,
        "Size of local disk for segments already copied to remote storage; -2 follows `retention.bytes`.",
        validator=Range(-2),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "remote.log.copy.disable",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether copying to remote storage is off while what is there can still be read.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "remote.log.delete.on.disable",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether turning remote storage off deletes what is there.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "internal.segment.bytes",
        ConfigType.INT,
        None,
        Importance.MEDIUM,
        "Segment size without its lower bound, for tests.",
        internal=True,
    ),
)

TOPIC_CONFIGS: Final = ConfigDef(KEYS)


@dataclass(frozen=True, slots=True)
class BrokerSynonym:
    """A broker config that sets a topic config's default; its value times `factor` has the topic's unit."""

    name: str
    factor: int = 1


_MS_PER_MINUTE: Final = 60_000
_MS_PER_HOUR: Final = 3_600_000


def _same(*names: str) -> dict[str, tuple[BrokerSynonym, ...]]:
    return {name: (BrokerSynonym(name),) for name in names}


def _prefixed(prefix: str, *names: str) -> dict[str, tuple[BrokerSynonym, ...]]:
    return {name: (BrokerSynonym(prefix + name),) for name in names}


# Strongest first.
TOPIC_SYNONYMS: Final[dict[str, tuple[BrokerSynonym, ...]]] = {
    **_same(
        "unclean.leader.election.enable",
        "min.insync.replicas",
        "compression.type",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
    ),
    **_prefixed(
        "log.",
        "segment.bytes",
        "retention.bytes",
        "index.interval.bytes",
        "cleanup.policy",
        "preallocate",
        "message.timestamp.type",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "local.retention.ms",
        "local.retention.bytes",
    ),
    **_prefixed("log.cleaner.", "delete.retention.ms", "min.compaction.lag.ms", "max.compaction.lag.ms"),
    "segment.ms": (BrokerSynonym("log.roll.ms"), BrokerSynonym("log.roll.hours", _MS_PER_HOUR)),
    "segment.jitter.ms": (BrokerSynonym("log.roll.jitter.ms"), BrokerSynonym("log.roll.jitter.hours", _MS_PER_HOUR)),
    "segment.index.bytes": (BrokerSynonym("log.index.size.max.bytes"),),
    "flush.messages": (BrokerSynonym("log.flush.interval.messages"),),
    "flush.ms": (BrokerSynonym("log.flush.interval.ms"), BrokerSynonym("log.flush.scheduler.interval.ms")),
    "retention.ms": (
        BrokerSynonym("log.retention.ms"),
        BrokerSynonym("log.retention.minutes", _MS_PER_MINUTE),
        BrokerSynonym("log.retention.hours", _MS_PER_HOUR),
    ),
    "max.message.bytes": (BrokerSynonym("message.max.bytes"),),
    "file.delete.delay.ms": (BrokerSynonym("log.segment.delete.delay.ms"),),
    "min.cleanable.dirty.ratio": (BrokerSynonym("log.cleaner.min.cleanable.ratio"),),
}
