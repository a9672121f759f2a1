"""Configs of client metrics subscriptions (KIP-714, resource type CLIENT_METRICS)."""

from typing import Final

from ottla.config.definition import ConfigDef, ConfigKey, Importance, Standing
from ottla.config.validators import ListOf
from ottla.config.values import ConfigType

INTERVAL_MS_MIN: Final = 100
INTERVAL_MS_MAX: Final = 3_600_000

CLIENT_METRICS_CONFIGS: Final = ConfigDef(
    (
        ConfigKey(
            "metrics",
            ConfigType.LIST,
            (),
            Importance.MEDIUM,
            "Prefixes of the metrics that matching clients push; `*` asks for all of them.",
            validator=ListOf(),
            standing=Standing.NOT_YET,
        ),
        ConfigKey(
            "interval.ms",
            ConfigType.INT,
            300_000,
            Importance.MEDIUM,
            "Pause between two pushes of matching clients.",
            standing=Standing.NOT_YET,
        ),
        ConfigKey(
            "match",
            ConfigType.LIST,
            (),
            Importance.MEDIUM,
            "Patterns that clients have to match, as parameter=expression; without any, all do.",
            validator=ListOf(),
            standing=Standing.NOT_YET,
        ),
    )
)

MATCH_PARAMETERS: Final = frozenset(
    (
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)
