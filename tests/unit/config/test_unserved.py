"""What this release cannot give stops the start, and says so before anything else does."""

from pathlib import Path

import pytest

from ottla.config import unserved
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.values import ConfigError

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
}


def test_the_file_that_kafka_ships_for_a_combined_node_is_served() -> None:
    unserved.check(COMBINED)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"listeners": "SSL://127.0.0.1:9093"}, "Listener SSL asks for SSL"),
        (
            {"listeners": "SAFE://:1", "listener.security.protocol.map": "SAFE:SASL_PLAINTEXT"},
            "Listener SAFE asks for SASL_PLAINTEXT",
        ),
        ({"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}, "no authorizer yet"),
        ({"process.roles": "broker"}, "runs as a single node"),
        ({"process.roles": "controller"}, "runs as a single node"),
        ({"controller.quorum.voters": "1@a:1,2@b:1,3@c:1"}, "names 3 controllers"),
        ({"controller.quorum.bootstrap.servers": "a:1,b:1"}, "names 2 controllers"),
    ],
)
def test_what_must_not_be_ignored_is_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        unserved.check(COMBINED | settings)


def test_what_only_disappoints_is_a_warning() -> None:
    warnings = unserved.warnings(BrokerConfig(COMBINED | {"default.replication.factor": "3"}))
    assert [warning.split(" ")[0] for warning in warnings] == [
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "Listener",
        "The",
    ]


def test_a_start_without_a_file_warns_of_nothing(tmp_path: Path) -> None:
    config = BrokerConfig(single_node_defaults(tmp_path, "127.0.0.1:9092"))
    assert [*config.warnings, *unserved.warnings(config)] == []
