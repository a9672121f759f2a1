"""Settings that Kafka does not have; their names begin with `ottla.`."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "ottla.dead.peer.detection.enable",
        ConfigType.BOOLEAN,
        True,
        Importance.MEDIUM,
        "Whether a process that died is noticed at once, when its connections break and its port refuses: a broker is "
        "fenced, and voters look for another leader, before the timeouts that silence costs.",
    ),
)
