"""Configs of single groups (resource type GROUP) and the broker configs that give them their defaults."""

from typing import Final

from ottla.config.definition import ConfigDef, ConfigKey, Importance, Standing
from ottla.config.validators import OneOf, Range, ShareOffsetReset
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "consumer.session.timeout.ms",
        ConfigType.INT,
        45_000,
        Importance.MEDIUM,
        "Silence after which a member of this consumer group is removed.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "consumer.heartbeat.interval.ms",
        ConfigType.INT,
        5000,
        Importance.MEDIUM,
        "Pause between heartbeats that members of this consumer group are told to keep.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "consumer.assignment.interval.ms",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Shortest time between two assignments of this consumer group.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.session.timeout.ms",
        ConfigType.INT,
        45_000,
        Importance.MEDIUM,
        "Silence after which a member of this share group is removed.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.heartbeat.interval.ms",
        ConfigType.INT,
        5000,
        Importance.MEDIUM,
        "Pause between heartbeats that members of this share group are told to keep.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.record.lock.duration.ms",
        ConfigType.INT,
        30_000,
        Importance.MEDIUM,
        "Time a record delivered to this share group stays locked for its consumer.",
        validator=Range(1000),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.delivery.count.limit",
        ConfigType.INT,
        5,
        Importance.MEDIUM,
        "Times a record is delivered to this share group before it is given up.",
        validator=Range(2),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.partition.max.record.locks",
        ConfigType.INT,
        2000,
        Importance.MEDIUM,
        "Records of a partition that this share group may have locked at a time.",
        validator=Range(100),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.auto.offset.reset",
        ConfigType.STRING,
        "latest",
        Importance.MEDIUM,
        "Where this share group starts on a partition it has not read: latest, earliest or by_duration: and "
        "a length of time.",
        validator=ShareOffsetReset(),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.isolation.level",
        ConfigType.STRING,
        "read_uncommitted",
        Importance.MEDIUM,
        "Whether this share group sees records of open and aborted transactions.",
        validator=OneOf(("read_committed", "read_uncommitted")),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.renew.acknowledge.enable",
        ConfigType.BOOLEAN,
        True,
        Importance.MEDIUM,
        "Whether consumers of this share group may prolong the lock of a record.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "share.assignment.interval.ms",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Shortest time between two assignments of this share group.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "streams.session.timeout.ms",
        ConfigType.INT,
        45_000,
        Importance.MEDIUM,
        "Silence after which a member of this streams group is removed.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "streams.heartbeat.interval.ms",
        ConfigType.INT,
        5000,
        Importance.MEDIUM,
        "Pause between heartbeats that members of this streams group are told to keep.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "streams.num.standby.replicas",
        ConfigType.INT,
        0,
        Importance.MEDIUM,
        "Standby copies of each stateful task of this streams group.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "streams.initial.rebalance.delay.ms",
        ConfigType.INT,
        3000,
        Importance.MEDIUM,
        "Time the coordinator waits for more members before the first assignment of this streams group.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "streams.assignment.interval.ms",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Shortest time between two assignments of this streams group.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
)

GROUP_CONFIGS: Final = ConfigDef(KEYS)

# Set on groups alone; every other group config has a broker config of the same name behind the prefix `group.`.
_WITHOUT_SYNONYM: Final = ("share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable")
GROUP_SYNONYMS: Final = {key.name: f"group.{key.name}" for key in KEYS if key.name not in _WITHOUT_SYNONYM}
