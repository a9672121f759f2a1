"""All broker configs of Kafka 4.3 and our own in one definition, and which names stand for the same setting."""

import re
from typing import Final

from ottla.config.broker import (
    beyond_kafka,
    groups,
    log,
    log_cleaner,
    metrics,
    network,
    node,
    oauth,
    quorum,
    quotas,
    remote_storage,
    replication,
    sasl,
    security,
    share_groups,
    tls,
    transactions,
)
from ottla.config.definition import ConfigDef, ConfigKey, Importance, Standing, UpdateMode
from ottla.config.validators import Range
from ottla.config.values import LONG_MAX, ConfigType

# In the order of the reference: what a reader needs first comes first.
SECTIONS: Final = (
    node,
    network,
    log,
    log_cleaner,
    replication,
    groups,
    share_groups,
    transactions,
    quorum,
    security,
    tls,
    sasl,
    oauth,
    quotas,
    metrics,
    remote_storage,
    beyond_kafka,
)

BROKER_CONFIGS: Final = ConfigDef(key for section in SECTIONS for key in section.KEYS)

# Throttles of replication exist only as dynamic configs: a file cannot set them.
DYNAMIC_ONLY_BROKER_CONFIGS: Final = ConfigDef(
    ConfigKey(
        name,
        ConfigType.LONG,
        LONG_MAX,
        Importance.MEDIUM,
        f"Bytes per second allowed to {what}.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
        standing=Standing.NOT_YET,
    )
    for name, what in (
        ("leader.replication.throttled.rate", "throttled replicas that this broker leads"),
        ("follower.replication.throttled.rate", "throttled replicas that this broker follows"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "moves between this broker's log directories"),
    )
)

# Names of one setting in different units, finest first: the first that is given wins.
_UNIT_FAMILIES: Final = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
_BROKER_SYNONYMS: Final = {name: family for family in _UNIT_FAMILIES for name in family} | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}

LISTENER_PREFIX: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
# Given per listener and SASL mechanism: the mechanism stands between listener prefix and name.
_LISTENER_MECHANISM_CONFIGS: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
# Limits of the whole node that can be given to one listener as well.
CLUSTER_LEVEL_LISTENER_CONFIGS: Final = frozenset(
    ("max.connections", "max.connection.creation.rate", "num.network.threads")
)


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names that can set what `name` sets, strongest first. A listener's own setting falls back to the general."""
    family = _BROKER_SYNONYMS.get(name)
    if family is not None:
        return family
    match = LISTENER_PREFIX.fullmatch(name)
    if match is None:
        return (name,)
    return (name, base_name(name))


def base_name(name: str) -> str:
    """The name without listener and mechanism prefix."""
    match = LISTENER_PREFIX.fullmatch(name)
    if match is None:
        return name
    rest: str = match[1]
    return next((config for config in _LISTENER_MECHANISM_CONFIGS if rest.endswith(config)), rest)


def broker_key(name: str) -> ConfigKey | None:
    """The definition behind a broker config name, listener-prefixed or dynamic-only ones included."""
    return BROKER_CONFIGS.get(name) or DYNAMIC_ONLY_BROKER_CONFIGS.get(name) or BROKER_CONFIGS.get(base_name(name))
