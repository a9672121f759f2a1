"""Quotas."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, Standing
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
        "Samples over which replication quotas are measured.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "replication.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of replication quotas.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which quotas of moves between log directories are measured.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "alter.log.dirs.replication.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of quotas of moves between log directories.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "controller.quota.window.num",
        ConfigType.INT,
        11,
        Importance.LOW,
        "Samples over which quotas of controller mutations are measured.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "controller.quota.window.size.seconds",
        ConfigType.INT,
        1,
        Importance.LOW,
        "Length of one sample of quotas of controller mutations.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "client.quota.callback.class",
        ConfigType.CLASS,
        None,
        Importance.LOW,
        "Class that decides the quotas of clients.",
        standing=Standing.NOT_YET,
    ),
)
