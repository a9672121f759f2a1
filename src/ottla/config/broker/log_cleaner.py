"""Log compaction."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, UpdateMode
from ottla.config.validators import Range
from ottla.config.values import DOUBLE_MAX, LONG_MAX, ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "log.cleaner.enable",
        ConfigType.BOOLEAN,
        True,
        Importance.MEDIUM,
        "Whether logs are compacted at all. Without it compacted topics grow without bound; deprecated in Kafka.",
    ),
    ConfigKey(
        "log.cleaner.threads",
        ConfigType.INT,
        1,
        Importance.MEDIUM,
        "Number of cleaners that compact logs, each in a process of its own; 0 compacts nothing.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.io.max.bytes.per.second",
        ConfigType.DOUBLE,
        DOUBLE_MAX,
        Importance.MEDIUM,
        "Bytes per second that all cleaners together may read and write.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.dedupe.buffer.size",
        ConfigType.LONG,
        134_217_728,
        Importance.MEDIUM,
        "Memory that all cleaners together may use to remember the latest offset of each key, 24 bytes for one.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.size",
        ConfigType.INT,
        524_288,
        Importance.MEDIUM,
        "Memory that all cleaners together use to read and write segments.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.io.buffer.load.factor",
        ConfigType.DOUBLE,
        0.9,
        Importance.MEDIUM,
        "How full the memory for keys may become; higher cleans more at once, with longer searches.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.backoff.ms",
        ConfigType.LONG,
        15_000,
        Importance.MEDIUM,
        "Pause of a cleaner that found nothing to clean.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.min.cleanable.ratio",
        ConfigType.DOUBLE,
        0.5,
        Importance.MEDIUM,
        "Share of uncleaned bytes in a log from which on it is worth cleaning.",
        validator=Range(0, 1),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.delete.retention.ms",
        ConfigType.LONG,
        86_400_000,
        Importance.MEDIUM,
        "Time that deletion markers stay in a compacted log after cleaning, so that slow readers still see them.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.min.compaction.lag.ms",
        ConfigType.LONG,
        0,
        Importance.MEDIUM,
        "Time a record is safe from compaction.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "log.cleaner.max.compaction.lag.ms",
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        "Time after which a record has to be compacted although its log is not dirty enough.",
        validator=Range(1),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
)
