from pathlib import Path

import pytest

from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.values import ConfigError

NODE = single_node_defaults(Path("/data"), "127.0.0.1:9092")
BROKER_ONLY = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@a:9093",
    "listeners": "PLAINTEXT://b:9092",
}

CONTRADICTIONS = [
    ({"node.id": "1", "broker.id": "2"}, r"node.id=1 and broker.id=2"),
    ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, r"nonroutable meta-address 0\.0\.0\.0"),
    ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, r"nonroutable meta-address 0\.0\.0\.0"),
    ({"advertised.listeners": "SSL://a:1"}, r"names SSL, which is not in listeners \(PLAINTEXT\)"),
    ({"listeners": "CONTROLLER://127.0.0.1:9092"}, r"at least one broker listener"),
    ({"inter.broker.listener.name": "SSL"}, r"must be a listener name defined in advertised\.listeners, but it is SSL"),
    ({"inter.broker.listener.name": "NOPE"}, r"not found in listener\.security\.protocol\.map"),
    (
        {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
        r"Only one of inter\.broker\.listener\.name and security\.inter\.broker\.protocol",
    ),
    ({"controller.quorum.voters": "2@a:1"}, r"node\.id=1 must be one of the voters"),
    ({"controller.quorum.voters": "1@a:1,2@b:2"}, r"controller\.listener\.names must only contain values appearing"),
    ({"log.roll.ms": "0"}, r"log\.roll\.ms must be greater than or equal to 1"),
    ({"log.roll.jitter.ms": "-1"}, r"log\.roll\.jitter\.ms"),
    ({"log.retention.hours": "0"}, r"must be -1 \(keep for ever\)"),
    ({"log.cleaner.dedupe.buffer.size": "1000"}, r"at least 1MB per cleaner thread"),
    ({"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "5"}, r"must not exceed"),
    ({"cordoned.log.dirs": "*,/data"}, r"must not contain other values"),
    ({"cordoned.log.dirs": "/other"}, r"/other in cordoned\.log\.dirs is not one of log\.dirs"),
    ({"replica.fetch.wait.max.ms": "40000", "replica.lag.time.max.ms": "50000"}, r"unnecessary socket timeouts"),
    ({"replica.fetch.wait.max.ms": "2000", "replica.lag.time.max.ms": "1000"}, r"frequent changes in ISR"),
    ({"queued.max.request.bytes": "100"}, r"larger or equal to socket\.request\.max\.bytes"),
    ({"max.connections.per.ip": "0"}, r"zero only if max\.connections\.per\.ip\.overrides"),
    ({"max.connections.per.ip.overrides": "host"}, r"write host:count pairs"),
    ({"group.consumer.session.timeout.ms": "100"}, r"greater than or equal to group\.consumer\.min\.session"),
    ({"group.share.max.record.lock.duration.ms": "30000", "group.share.record.lock.duration.ms": "40000"}, r"max\.rec"),
    ({"offsets.topic.compression.codec": "9"}, r"Unknown compression type id 9 in offsets\.topic"),
]


@pytest.mark.parametrize(("settings", "reason"), CONTRADICTIONS)
def test_a_contradiction_refuses_to_start(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        BrokerConfig({**NODE, **settings})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"controller.quorum.voters": ""}, r"has to know the controllers"),
        ({"controller.quorum.voters": "2@a:9093"}, r"must not be one of the voters"),
        ({"listeners": "PLAINTEXT://b:9092,CONTROLLER://b:9093"}, r"must not contain a value appearing in listeners"),
    ],
)
def test_a_broker_without_controller_role_needs_controllers_elsewhere(settings: dict[str, str], reason: str) -> None:
    BrokerConfig(BROKER_ONLY)
    with pytest.raises(ConfigError, match=reason):
        BrokerConfig({**BROKER_ONLY, **settings})


def test_a_controller_serves_controller_listeners_only() -> None:
    given = {**BROKER_ONLY, "process.roles": "controller", "node.id": "1"}
    assert BrokerConfig({**given, "listeners": "CONTROLLER://a:9093"}).broker_listeners == ()
    with pytest.raises(ConfigError, match="must only contain"):
        BrokerConfig({**given, "listeners": "CONTROLLER://a:9093,PLAINTEXT://a:9092"})


def test_sasl_between_brokers_needs_its_mechanism_enabled() -> None:
    given = {**NODE, "listeners": "SASL_PLAINTEXT://a:1", "security.inter.broker.protocol": "SASL_PLAINTEXT"}
    BrokerConfig(given)
    with pytest.raises(ConfigError, match=r"must be included in sasl\.enabled\.mechanisms"):
        BrokerConfig({**given, "sasl.mechanism.inter.broker.protocol": "PLAIN"})
