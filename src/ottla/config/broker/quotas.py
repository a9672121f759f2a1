"""Quotas."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance
from ottla.config.validators import Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which the rate of new connections is measured.",
        validator=Range(1),
    ),
    ConfigKey(
        "quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of the rate of new connections.",
        validator=Range(1),
    ),
    ConfigKey(
        "replication.quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which replication quotas are measured. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "replication.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of replication quotas. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which quotas of moves between log directories are measured. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of quotas of moves between log directories. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "controller.quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which quotas of controller mutations are measured. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "controller.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of quotas of controller mutations. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "client.quota.callback.class",
        ConfigType.CLASS,
        None,
        Importance.LOW,
        "Class that decides the quotas of clients. Not acted on yet.",
    ),
)
