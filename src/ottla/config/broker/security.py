"""Authorization, principals and delegation tokens."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, Standing, UpdateMode
from ottla.config.validators import Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "authorizer.class.name",
        ConfigType.STRING,
        "",
        Importance.LOW,
        "Class that decides who may do what; empty allows everything.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "principal.builder.class",
        ConfigType.CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        Importance.MEDIUM,
        "Class that derives a principal from an authenticated connection. "
        "Ottla builds principals as Kafka's default does.",
        update_mode=UpdateMode.PER_BROKER,
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "security.providers",
        ConfigType.STRING,
        None,
        Importance.LOW,
        "Java security providers to install.",
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        0,
        Importance.MEDIUM,
        "Lifetime of a SASL session after which the client has to authenticate again; 0 sets no limit.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "delegation.token.secret.key",
        ConfigType.PASSWORD,
        None,
        Importance.MEDIUM,
        "Key that signs delegation tokens; the same on every broker.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "delegation.token.max.lifetime.ms",
        ConfigType.LONG,
        604_800_000,
        Importance.MEDIUM,
        "Longest lifetime of a delegation token, renewals included.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "delegation.token.expiry.time.ms",
        ConfigType.LONG,
        86_400_000,
        Importance.MEDIUM,
        "Time a delegation token is valid before it has to be renewed.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "delegation.token.expiry.check.interval.ms",
        ConfigType.LONG,
        3_600_000,
        Importance.LOW,
        "Pause between two deletions of expired delegation tokens.",
        validator=Range(1),
        standing=Standing.NOT_YET,
    ),
)
