"""The value of a setting, merged from everything that can set it.

The order is Kafka's, strongest first: the topic's own config, the dynamic config of this broker, the dynamic default of
all brokers, the static config of the node's file, the built-in default. Layers are merged name by name; only then does
the finest unit given win (`log.retention.ms` over minutes over hours).

Dynamic values come from the metadata log, where a newer version may have written names or values that this one does not
know. Such entries are skipped, not refused: a node must be able to start from any committed log.
"""

from collections.abc import Mapping
from typing import Any, Final

from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_configs import BROKER_CONFIGS, LISTENER_PREFIX, broker_key
from ottla.config.definition import UpdateMode
from ottla.config.topic_configs import TOPIC_CONFIGS, TOPIC_SYNONYMS
from ottla.config.values import ConfigError, ConfigValue
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType

_TIMESTAMP_TYPES: Final = {
    "CreateTime": TimestampType.CREATE_TIME,
    "LogAppendTime": TimestampType.LOG_APPEND_TIME,
}


def effective_broker_config(
    static: BrokerConfig, cluster_default: Mapping[str, str], per_broker: Mapping[str, str]
) -> BrokerConfig:
    """The node's config with its dynamic overrides applied."""
    overrides = {
        name: text for layer in (cluster_default, per_broker) for name, text in layer.items() if _applies(name, text)
    }
    if not overrides:
        return static
    try:
        return BrokerConfig({**static.static_values, **overrides})
    except ConfigError:
        # Each value is valid, and all of them together were when they were written; the file has changed since. It
        # wins.
        return static


def _applies(name: str, text: str) -> bool:
    key = broker_key(name)
    if key is None or key.name not in BROKER_CONFIGS:
        return False
    if key.update_mode is UpdateMode.READ_ONLY and not LISTENER_PREFIX.fullmatch(name):
        return False
    try:
        key.parse(text)
    except ConfigError:
        return False
    return True


def topic_defaults(broker: BrokerConfig) -> dict[str, ConfigValue]:
    """The values of a topic that has no config of its own on this broker."""
    values: dict[str, ConfigValue] = {key.name: TOPIC_CONFIGS.default(key.name) for key in TOPIC_CONFIGS}
    for name, synonyms in TOPIC_SYNONYMS.items():
        for synonym in synonyms:
            value = broker.get(synonym.name)
            if value is not None:
                values[name] = value * synonym.factor if synonym.factor != 1 and isinstance(value, int) else value
                break
    values["retention.ms"] = broker.log_retention_ms
    return values


def topic_values(defaults: Mapping[str, ConfigValue], configs: Mapping[str, str]) -> dict[str, ConfigValue]:
    """The typed values in force for a topic: its own over `defaults`."""
    values = dict(defaults)
    for name, text in configs.items():
        key = TOPIC_CONFIGS.get(name)
        if key is None:
            continue
        try:
            values[name] = key.parse(text)
        except ConfigError:
            continue
    return values


def log_config_fields(broker: BrokerConfig, configs: Mapping[str, str]) -> dict[str, Any]:
    """The fields of `ottla.storage.log_config.LogConfig` for a topic with these configs of its own.

    Configuration must not import storage, so it returns keyword arguments.
    """
    values = topic_values(topic_defaults(broker), configs)
    internal_segment_bytes = values["internal.segment.bytes"]
    if internal_segment_bytes is not None:
        values["segment.bytes"] = internal_segment_bytes
    fields: dict[str, Any] = {name.replace(".", "_"): values[name] for name in _LOG_CONFIG_NAMES}
    policy, compression = values["cleanup.policy"], values["compression.type"]
    assert isinstance(policy, tuple)
    fields["cleanup_policy"] = frozenset(policy)
    fields["compression_type"] = _codec(str(compression))
    fields["message_timestamp_type"] = _TIMESTAMP_TYPES[str(values["message.timestamp.type"])]
    fields["producer_id_expiration_ms"] = broker.get_int("producer.id.expiration.ms")
    fields["transaction_verification_enabled"] = broker.get_bool("transaction.partition.verification.enable")
    return fields


def _codec(compression_type: str) -> Codec | None:
    """The codec of a topic; None keeps what the producer chose."""
    if compression_type == "producer":
        return None
    return Codec.NONE if compression_type == "uncompressed" else Codec[compression_type.upper()]


# Replication throttles and tiered storage do not concern a local log.
_LOG_CONFIG_NAMES: Final = tuple(
    key.name
    for key in TOPIC_CONFIGS
    if not key.internal and not key.name.startswith(("leader.", "follower.", "remote.", "local."))
)
