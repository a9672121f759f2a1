"""Metrics and client telemetry."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, Standing, UpdateMode
from ottla.config.validators import ListOf, Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "metrics.num.samples",
        ConfigType.INT,
        2,
        Importance.LOW,
        "Samples kept to compute a metric.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "metrics.sample.window.ms",
        ConfigType.LONG,
        30_000,
        Importance.LOW,
        "Length of one sample of a metric.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "metric.reporters",
        ConfigType.LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        Importance.LOW,
        "Java classes that report metrics.",
        validator=ListOf(),
        update_mode=UpdateMode.CLUSTER_WIDE,
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "metrics.recording.level",
        ConfigType.STRING,
        "INFO",
        Importance.LOW,
        "Level of detail at which metrics are recorded: INFO, DEBUG or TRACE.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "kafka.metrics.reporters",
        ConfigType.LIST,
        (),
        Importance.LOW,
        "Java classes that report Yammer metrics.",
        validator=ListOf(),
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "kafka.metrics.polling.interval.secs",
        ConfigType.INT,
        10,
        Importance.LOW,
        "Pause between two reports of Yammer metrics.",
        validator=Range(1),
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "telemetry.max.bytes",
        ConfigType.INT,
        1_048_576,
        Importance.LOW,
        "Largest block of metrics that a client may push.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
)
