"""Codes and messages are those that Kafka 4.3 gave for the same requests; some messages add what to do."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.description import BrokerLayers
from ottla.config.dynamic_rules import (
    validate_broker_configs,
    validate_client_metrics_configs,
    validate_group_configs,
    validate_topic_configs,
)
from ottla.protocol.errors import ApiError, ErrorCode

STATIC = BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092"))
LAYERS = BrokerLayers(STATIC, {}, {})
RESTART = "Set them in the node's properties file, or with --override name=value, and restart it."
STATIC_ONLY = "Cannot update these configs dynamically: "
UNMOVABLE = f"{STATIC_ONLY}[num.partitions]. {RESTART}"
PER_LISTENER = "These security configs can be dynamically updated only per-listener using the listener prefix: "
PER_BROKER = "Cannot update these configs at default cluster level, broker id must be specified: "


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"retention.m": "1"}, "Unknown topic config name: retention.m. Did you mean retention.ms?"),
        (
            {"log.retention.hours": "1"},
            "Unknown topic config name: log.retention.hours. That is the name of the brokers' default; "
            "the topic's own is retention.ms.",
        ),
        (
            {"retention.ms": "1h"},
            "Invalid value 1h for configuration retention.ms: Not a number of type LONG. "
            "It is in milliseconds: write 3600000 for 1h.",
        ),
        (
            {"segment.bytes": "1"},
            "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            {"min.compaction.lag.ms": "50", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (50) > max.compaction.lag.ms (5)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
    ],
)
def test_a_topic_refuses_with_invalid_config(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate_topic_configs(configs)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_CONFIG, message)


def test_a_topic_takes_what_is_right() -> None:
    validate_topic_configs({"cleanup.policy": "", "retention.ms": "-1", "compression.type": "zstd"})


def test_a_value_has_a_longest_length() -> None:
    with pytest.raises(ApiError, match="maximum size of 32767 bytes"):
        validate_topic_configs({"leader.replication.throttled.replicas": "1:1," * 10_000})


@pytest.mark.parametrize(
    ("configs", "is_cluster_default", "message"),
    [
        ({"num.partitions": "5"}, False, UNMOVABLE),
        ({"num.partitions": "5"}, True, UNMOVABLE),
        ({"log.retention.hours": "5"}, False, f"{STATIC_ONLY}[log.retention.hours]. {RESTART}"),
        ({"ssl.keystore.location": "x"}, False, f"{PER_LISTENER}[ssl.keystore.location]"),
        ({"sasl.jaas.config": "x"}, True, f"{PER_BROKER}[sasl.jaas.config]"),
        ({"listeners": "PLAINTEXT://:9"}, True, f"{PER_BROKER}[listeners]"),
        (
            {"listener.name.internal.ssl.keystore.type": "PEM"},
            True,
            f"{PER_BROKER}[listener.name.internal.ssl.keystore.type]",
        ),
        (
            {"log.cleaner.threads": "x"},
            False,
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            {"num.io.threads": "100"},
            False,
            "Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than "
            "double the current value 8",
        ),
        (
            {"num.io.threads": "1"},
            True,
            "Dynamic thread count update validation failed for num.io.threads=1, value should be at least half the "
            "current value 8",
        ),
    ],
)
def test_a_broker_refuses_with_invalid_request(configs: dict[str, str], is_cluster_default: bool, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate_broker_configs(configs, LAYERS, is_cluster_default=is_cluster_default)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_REQUEST, message)


def test_a_contradiction_with_other_layers_is_refused() -> None:
    with pytest.raises(ApiError, match="at least 1MB per cleaner thread"):
        validate_broker_configs({"log.cleaner.dedupe.buffer.size": "1000"}, LAYERS, is_cluster_default=False)


def test_listeners_stay_as_they_are_while_the_node_runs() -> None:
    with pytest.raises(ApiError, match="restart"):
        validate_broker_configs({"listeners": "PLAINTEXT://127.0.0.1:9"}, LAYERS, is_cluster_default=False)


@pytest.mark.parametrize(
    ("configs", "is_cluster_default"),
    [
        ({"log.retention.ms": "5000", "unheard.of": "x"}, False),
        ({"log.cleaner.threads": "2"}, True),
        ({"leader.replication.throttled.rate": "1000"}, False),
        ({"listener.name.internal.ssl.keystore.type": "PEM"}, False),
        ({"listener.name.internal.max.connections": "5"}, True),
        ({}, True),
    ],
)
def test_a_broker_takes_what_is_right(configs: dict[str, str], is_cluster_default: bool) -> None:
    validate_broker_configs(configs, LAYERS, is_cluster_default=is_cluster_default)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown group config name: foo"),
        (
            {"consumer.session.timeout.ms": "5"},
            "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {"consumer.heartbeat.interval.ms": "50000"},
            "consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (
            {"streams.num.standby.replicas": "3"},
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
    ],
)
def test_a_group_refuses_with_invalid_config(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate_group_configs(configs, STATIC)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_CONFIG, message)


def test_a_group_takes_what_is_right() -> None:
    validate_group_configs({"consumer.session.timeout.ms": "50000", "share.isolation.level": "read_committed"}, STATIC)


def test_a_groups_heartbeat_stays_below_its_session() -> None:
    bounds = {"group.consumer.max.heartbeat.interval.ms": "60000"}
    broker = BrokerConfig({**STATIC.static_values, **bounds})
    with pytest.raises(ApiError, match=r"must be greater than consumer\.heartbeat\.interval\.ms"):
        validate_group_configs({"consumer.heartbeat.interval.ms": "50000"}, broker)


@pytest.mark.parametrize(
    ("configs", "code", "message"),
    [
        ({"foo": "x"}, ErrorCode.INVALID_REQUEST, "Unknown client metrics configuration: foo"),
        (
            {"interval.ms": "5"},
            ErrorCode.INVALID_REQUEST,
            "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        ({"match": "foo=foo"}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: foo=foo"),
        ({"match": "foo"}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: foo"),
        ({"match": "client_id=("}, ErrorCode.INVALID_CONFIG, "Illegal client matching pattern: client_id=("),
    ],
)
def test_a_subscription_refuses(configs: Mapping[str, str], code: ErrorCode, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate_client_metrics_configs(configs)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_a_subscription_takes_what_is_right() -> None:
    validate_client_metrics_configs(
        {"interval.ms": "500", "match": "client_id=a.*,client_source_port=90", "metrics": "*"}
    )
