"""Configs as DescribeConfigs shows them: value, where it comes from, and every other place that could have set it.

The synonyms of an entry are all settings of the same thing, strongest first; the first one is in force and gives the
entry its source. Two oddities are Kafka's and are kept because clients compare. A setting whose value comes from a
coarser unit (`log.retention.hours` for `log.retention.ms`) is reported as a default without synonyms. A name that no
definition knows is shown as sensitive, without its value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_configs import BROKER_CONFIGS, DYNAMIC_ONLY_BROKER_CONFIGS, broker_key, broker_synonyms
from ottla.config.client_metrics_configs import CLIENT_METRICS_CONFIGS
from ottla.config.definition import ConfigKey, UpdateMode
from ottla.config.dynamic import effective_broker_config, topic_defaults, topic_values
from ottla.config.group_configs import GROUP_CONFIGS, GROUP_SYNONYMS
from ottla.config.topic_configs import TOPIC_CONFIGS, TOPIC_SYNONYMS
from ottla.config.values import format_value

UNKNOWN_TYPE = 0


class ConfigSource(IntEnum):
    """Where a value comes from, as numbered in DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class Entry:
    """One described config."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    type: int = UNKNOWN_TYPE
    read_only: bool = False
    is_sensitive: bool = False
    documentation: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerLayers:
    """Everything that sets a broker's configs, and their sum."""

    static: BrokerConfig
    cluster_default: Mapping[str, str]
    per_broker: Mapping[str, str]

    @property
    def effective(self) -> BrokerConfig:
        return effective_broker_config(self.static, self.cluster_default, self.per_broker)

    def synonyms(self, name: str) -> tuple[Synonym, ...]:
        """All settings of `name`, strongest first, beginning with `name` itself or its weaker forms."""
        key = broker_key(name)
        hidden = key is None or key.is_sensitive
        names = broker_synonyms(name)
        found = [
            Synonym(synonym, None if hidden else layer[synonym], source)
            for layer, source in (
                (self.per_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (self.cluster_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                (self.static.static_values, ConfigSource.STATIC_BROKER_CONFIG),
            )
            for synonym in names
            if synonym in layer
        ]
        for synonym in names:
            default = _default_text(synonym)
            if default is not None:
                found.append(Synonym(synonym, None if hidden else default, ConfigSource.DEFAULT_CONFIG))
        # A setting in a finer unit is not a synonym of one in a coarser unit.
        start = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
        return tuple(found[start:])


def _default_text(name: str) -> str | None:
    key = BROKER_CONFIGS.get(name)
    return None if key is None else key.default_text


def describe_topic(configs: Mapping[str, str], layers: BrokerLayers) -> list[Entry]:
    values = topic_values(topic_defaults(layers.effective), configs)
    return [
        _entry(key, format_value(values[key.name]), _topic_synonyms(key, configs, layers))
        for key in TOPIC_CONFIGS
        if not key.internal
    ]


def _topic_synonyms(key: ConfigKey, configs: Mapping[str, str], layers: BrokerLayers) -> tuple[Synonym, ...]:
    synonyms = TOPIC_SYNONYMS.get(key.name)
    inherited = () if synonyms is None else layers.synonyms(synonyms[0].name)
    if key.name not in configs:
        return inherited
    return (Synonym(key.name, configs[key.name], ConfigSource.DYNAMIC_TOPIC_CONFIG), *inherited)


def describe_broker(layers: BrokerLayers) -> list[Entry]:
    """Every config of this broker, with the unknown names that dynamic configs or the file have brought in."""
    effective = layers.effective
    entries = [
        _broker_entry(key.name, format_value(effective.get(key.name)), layers.synonyms(key.name))
        for key in BROKER_CONFIGS
        if not key.internal
    ]
    extra = dict.fromkeys((*layers.static.static_values, *layers.cluster_default, *layers.per_broker))
    for name in extra:
        if name not in BROKER_CONFIGS:
            synonyms = layers.synonyms(name)
            entries.append(_broker_entry(name, synonyms[0].value, synonyms))
    return entries


def describe_cluster_default(cluster_default: Mapping[str, str]) -> list[Entry]:
    """The dynamic defaults of all brokers: only what has been set."""
    entries = []
    for name, value in cluster_default.items():
        key = broker_key(name)
        shown = None if key is None or key.is_sensitive else value
        synonym = Synonym(name, shown, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
        entries.append(_broker_entry(name, shown, (synonym,)))
    return entries


def _broker_entry(name: str, value: str | None, synonyms: tuple[Synonym, ...]) -> Entry:
    key = broker_key(name)
    if key is None:
        return Entry(name, None, synonyms[0].source, synonyms, read_only=True, is_sensitive=True)
    exact = BROKER_CONFIGS.get(name) or DYNAMIC_ONLY_BROKER_CONFIGS.get(name)
    read_only = exact is None or exact.update_mode is UpdateMode.READ_ONLY
    return _entry(key, value, synonyms, name=name, read_only=read_only)


def describe_group(configs: Mapping[str, str], layers: BrokerLayers) -> list[Entry]:
    effective = layers.effective
    entries = []
    for key in GROUP_CONFIGS:
        broker_name = GROUP_SYNONYMS.get(key.name)
        if broker_name is None:
            value = key.default_text
            synonyms: tuple[Synonym, ...] = (Synonym(key.name, value, ConfigSource.DEFAULT_CONFIG),)
        else:
            value = format_value(effective.get(broker_name))
            synonyms = layers.synonyms(broker_name)
        own = configs.get(key.name)
        if own is not None:
            value = own
            synonyms = (Synonym(key.name, own, ConfigSource.GROUP_CONFIG), *synonyms)
        entries.append(_entry(key, value, synonyms))
    return entries


def describe_client_metrics(configs: Mapping[str, str]) -> list[Entry]:
    return [_client_metrics_entry(key, configs.get(key.name)) for key in CLIENT_METRICS_CONFIGS]


def _client_metrics_entry(key: ConfigKey, own: str | None) -> Entry:
    if own is None:
        return _entry(key, key.default_text, ())
    return _entry(key, own, (Synonym(key.name, own, ConfigSource.CLIENT_METRICS_CONFIG),))


def describe_loggers(levels: Mapping[str, str]) -> list[Entry]:
    return [
        Entry(name, level, ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, (), documentation="")
        for name, level in levels.items()
    ]


def _entry(
    key: ConfigKey, value: str | None, synonyms: tuple[Synonym, ...], *, name: str = "", read_only: bool = False
) -> Entry:
    return Entry(
        name or key.name,
        None if key.is_sensitive else value,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        synonyms,
        type=key.type,
        read_only=read_only,
        is_sensitive=key.is_sensitive,
        documentation=key.documentation,
    )


def only_named(entries: Iterable[Entry], names: Iterable[str]) -> list[Entry]:
    """The entries with these names; a name without an entry is silently left out, as in Kafka."""
    wanted = set(names)
    return [entry for entry in entries if entry.name in wanted]
