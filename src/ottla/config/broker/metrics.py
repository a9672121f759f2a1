"""Metrics and client telemetry."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, UpdateMode
from ottla.config.validators import ListOf, Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "metrics.num.samples",
        ConfigType.INT,
        2,
        Importance.LOW,
        "Samples kept to compute a metric. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "metrics.sample.window.ms",
        ConfigType.LONG,
        30_000,
        Importance.LOW,
        "Length of one sample of a metric. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "metric.reporters",
        ConfigType.LIST,
        ("org.apache.kafka.common.metrics.JmxReporter",),
        Importance.LOW,
        "Java classes that report metrics. It has no effect in Ottla.",
        validator=ListOf(),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "metrics.recording.level",
        ConfigType.STRING,
        "INFO",
        Importance.LOW,
        "Level of detail at which metrics are recorded: INFO, DEBUG or TRACE. Not acted on yet.",
    ),
    ConfigKey(
        "kafka.metrics.reporters",
        ConfigType.LIST,
        (),
        Importance.LOW,
        "Java classes that report Yammer metrics. It has no effect in Ottla.",
        validator=ListOf(),
    ),
    ConfigKey(
        "kafka.metrics.polling.interval.secs",
        ConfigType.INT,
        10,
        Importance.LOW,
        "Pause between two reports of Yammer metrics. It has no effect in Ottla.",
        validator=Range(1),
    ),
    ConfigKey(
        "telemetry.max.bytes",
        ConfigType.INT,
        1_048_576,
        Importance.LOW,
        "Largest block of metrics that a client may push. Not acted on yet.",
        validator=Range(1),
    ),
)
