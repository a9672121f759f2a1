"""Authorization, principals and delegation tokens."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, UpdateMode
from ottla.config.validators import Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "authorizer.class.name",
        ConfigType.STRING,
        "",
        Importance.LOW,
        "Class that decides who may do what; empty allows everything. Not acted on yet.",
    ),
    ConfigKey(
        "principal.builder.class",
        ConfigType.CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        Importance.MEDIUM,
        "Class that derives a principal from an authenticated connection. "
        "Ottla builds principals as Kafka's default does. Not acted on yet.",
        update_mode=UpdateMode.PER_BROKER,
    ),
    ConfigKey(
        "security.providers",
        ConfigType.STRING,
        None,
        Importance.LOW,
        "Java security providers to install. It has no effect in Ottla.",
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        0,
        Importance.MEDIUM,
        "Lifetime of a SASL session after which the client has to authenticate again; 0 sets no limit. "
        "Not acted on yet.",
    ),
    ConfigKey(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        Importance.MEDIUM,
        "Key that signs delegation tokens; the same on every broker. Not acted on yet.",
    ),
    ConfigKey(
        "delegation.token.max.lifetime.ms",
        ConfigType.LONG,
        604_800_000,
        Importance.MEDIUM,
        "Longest lifetime of a delegation token, renewals included. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "delegation.token.expiry.time.ms",
        ConfigType.LONG,
        86_400_000,
        Importance.MEDIUM,
        "Time a delegation token is valid before it has to be renewed. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "delegation.token.expiry.check.interval.ms",
        ConfigType.LONG,
        3_600_000,
        Importance.LOW,
        "Pause between two deletions of expired delegation tokens. Not acted on yet.",
        validator=Range(1),
    ),
)
