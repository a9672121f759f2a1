"""Which dynamic configs a resource may have, kind by kind.

The controller computes the configs that a resource would have after a change; they are checked here as a whole, before
anything is written. Refusals are ApiErrors with Kafka's codes: topics and groups answer INVALID_CONFIG,
brokers INVALID_REQUEST.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_configs import (
    BROKER_CONFIGS,
    CLUSTER_LEVEL_LISTENER_CONFIGS,
    LISTENER_PREFIX,
    base_name,
    broker_key,
)
from ottla.config.client_metrics_configs import (
    CLIENT_METRICS_CONFIGS,
    INTERVAL_MS_MAX,
    INTERVAL_MS_MIN,
    MATCH_PARAMETERS,
)
from ottla.config.definition import UpdateMode
from ottla.config.description import BrokerLayers
from ottla.config.group_configs import GROUP_CONFIGS, GROUP_SYNONYMS
from ottla.config.spelling import closest
from ottla.config.topic_configs import TOPIC_CONFIGS, TOPIC_SYNONYMS
from ottla.config.values import ConfigError
from ottla.protocol.errors import ApiError, ErrorCode

# The longest value that every version can read from a ConfigRecord.
VALUE_SIZE_MAX_BYTES: Final = 32767


def check_value_sizes(configs: Mapping[str, str]) -> None:
    for name, value in configs.items():
        if len(value.encode("utf-8", "surrogatepass")) > VALUE_SIZE_MAX_BYTES:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"The value of {name} exceeds the maximum size of {VALUE_SIZE_MAX_BYTES} bytes: make it shorter.",
            )


def _topic_name_hint(name: str) -> str:
    for topic_name, synonyms in TOPIC_SYNONYMS.items():
        if any(name == synonym.name for synonym in synonyms):
            return f". That is the name of the brokers' default; the topic's own is {topic_name}."
    close = closest(name, (key.name for key in TOPIC_CONFIGS if not key.internal))
    return f". Did you mean {close}?" if close else ""


def validate_topic_configs(configs: Mapping[str, str]) -> None:
    """Checks the configs that a topic is to have, at creation or after a change."""
    for name in configs:
        if name not in TOPIC_CONFIGS:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}{_topic_name_hint(name)}")
    check_value_sizes(configs)
    values = {key.name: key.default for key in TOPIC_CONFIGS}
    try:
        for name, text in configs.items():
            values[name] = TOPIC_CONFIGS[name].parse(text)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from error
    minimum, maximum = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(minimum, int)
    assert isinstance(maximum, int)
    if minimum > maximum:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})",
        )
    if values["remote.storage.enable"] is True:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )


def validate_broker_configs(configs: Mapping[str, str], layers: BrokerLayers, *, is_cluster_default: bool) -> None:
    """Checks the dynamic configs that a broker, or the default of all brokers, is to have.

    `layers` are the ones in force; the layer that changes is replaced by `configs` here.
    """
    check_value_sizes(configs)
    _refuse(
        "Cannot update these configs dynamically",
        (name for name in configs if _is_static(name)),
        ". Set them in the node's properties file, or with --override name=value, and restart it.",
    )
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        (name for name in configs if name in _SECURITY_STORES),
    )
    for name, text in configs.items():
        key = broker_key(name)
        if key is not None:
            try:
                key.parse(text)
            except ConfigError as error:
                raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from error
    if is_cluster_default:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            (name for name in configs if _is_per_broker(name)),
        )
        proposed = BrokerLayers(layers.static, configs, layers.per_broker)
    else:
        proposed = BrokerLayers(layers.static, layers.cluster_default, configs)
    _check_together(proposed, layers.effective)


# Key and trust stores differ between listeners: changing them for all listeners at once would be a trap.
_SECURITY_STORES: Final = frozenset(
    key.name
    for key in BROKER_CONFIGS
    if key.name.startswith(("ssl.keystore.", "ssl.truststore.")) or key.name == "ssl.key.password"
)
# A sudden jump in the number of threads is more often a typing error than intended.
_THREAD_COUNTS: Final = (
    "num.network.threads",
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "log.cleaner.threads",
)


def _refuse(reason: str, names: Iterable[str], remedy: str = "") -> None:
    refused = list(names)
    if refused:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{reason}: [{', '.join(refused)}]{remedy}")


def _is_static(name: str) -> bool:
    key = BROKER_CONFIGS.get(name)
    return key is not None and key.update_mode is UpdateMode.READ_ONLY


def _is_per_broker(name: str) -> bool:
    key = BROKER_CONFIGS.get(name)
    if key is not None:
        return key.update_mode is UpdateMode.PER_BROKER
    return bool(LISTENER_PREFIX.fullmatch(name)) and base_name(name) not in CLUSTER_LEVEL_LISTENER_CONFIGS


def _check_together(proposed: BrokerLayers, current: BrokerConfig) -> None:
    overrides = {
        name: text
        for layer in (proposed.cluster_default, proposed.per_broker)
        for name, text in layer.items()
        if name in BROKER_CONFIGS
    }
    try:
        changed = BrokerConfig({**proposed.static.static_values, **overrides})
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from error
    if changed.listeners != current.listeners:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "listeners cannot be changed while the node runs yet: change them in its properties file and restart it.",
        )
    for name in _THREAD_COUNTS:
        wanted, running = changed.get_int(name), current.get_int(name)
        problem = f"Dynamic thread count update validation failed for {name}={wanted}, value should"
        if wanted < running // 2:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{problem} be at least half the current value {running}")
        if wanted > running * 2:
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"{problem} not be greater than double the current value {running}"
            )


def validate_group_configs(configs: Mapping[str, str], broker: BrokerConfig) -> None:
    """Checks the configs that a group is to have, against the bounds that the broker sets for all groups."""
    for name in configs:
        if name not in GROUP_CONFIGS:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
    check_value_sizes(configs)
    values: dict[str, object] = {name: broker.get(GROUP_SYNONYMS[name]) for name in GROUP_SYNONYMS}
    try:
        for name, text in configs.items():
            values[name] = GROUP_CONFIGS[name].parse(text)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from error
    for name in configs:
        _check_group_bounds(name, values[name], broker)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = values[f"{kind}.session.timeout.ms"], values[f"{kind}.heartbeat.interval.ms"]
        assert isinstance(session, int)
        assert isinstance(heartbeat, int)
        if session <= heartbeat:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms",
            )


def _check_group_bounds(name: str, value: object, broker: BrokerConfig) -> None:
    kind, _, rest = name.partition(".")
    low = f"group.{kind}.min.{rest}"
    high = "group.streams.max.standby.replicas" if rest == "num.standby.replicas" else f"group.{kind}.max.{rest}"
    if not isinstance(value, int):
        return
    if low in BROKER_CONFIGS and value < broker.get_int(low):
        raise ApiError(ErrorCode.INVALID_CONFIG, f"{name} must be greater than or equal to {low}")
    if high in BROKER_CONFIGS and value > broker.get_int(high):
        raise ApiError(ErrorCode.INVALID_CONFIG, f"{name} must be less than or equal to {high}")


def validate_client_metrics_configs(configs: Mapping[str, str]) -> None:
    """Checks the configs that a client metrics subscription is to have."""
    for name in configs:
        if name not in CLIENT_METRICS_CONFIGS:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    check_value_sizes(configs)
    try:
        values = {name: CLIENT_METRICS_CONFIGS[name].parse(text) for name, text in configs.items()}
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from error
    interval = values.get("interval.ms")
    if isinstance(interval, int) and not INTERVAL_MS_MIN <= interval <= INTERVAL_MS_MAX:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval} for interval.ms, interval must be between {INTERVAL_MS_MIN} and "
            f"{INTERVAL_MS_MAX} (1 hour)",
        )
    patterns = values.get("match") or ()
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        parameter, separator, expression = (part.strip() for part in pattern.partition("="))
        if not separator or parameter not in MATCH_PARAMETERS or not _is_expression(expression):
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
