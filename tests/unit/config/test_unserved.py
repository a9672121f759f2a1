"""What this release cannot give stops the start, and says so before anything else does."""

import re
from pathlib import Path

import pytest

from ottla.config import unserved
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.broker_configs import BROKER_CONFIGS, DYNAMIC_ONLY_BROKER_CONFIGS
from ottla.config.definition import ConfigKey, Standing
from ottla.config.topic_configs import TOPIC_SYNONYMS
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
    ],
)
def test_what_must_not_be_ignored_is_refused(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        unserved.check(COMBINED | settings)


def test_what_only_disappoints_is_a_warning() -> None:
    alone = {"listeners": "PLAINTEXT://:9092", "controller.quorum.bootstrap.servers": ""}
    warnings = unserved.warnings(BrokerConfig(COMBINED | alone | {"default.replication.factor": "3"}))
    assert [warning.split(" ")[0] for warning in warnings] == [
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "The",
    ]


def test_replicas_are_not_warned_of_where_other_brokers_can_join() -> None:
    (warning,) = unserved.warnings(BrokerConfig(COMBINED | {"default.replication.factor": "3"}))
    assert warning.startswith("The node listens on all interfaces")


def warned(tmp_path: Path, **settings: str) -> list[str]:
    given = {name.replace("_", "."): text for name, text in settings.items()}
    return unserved.warnings(BrokerConfig(single_node_defaults(tmp_path, "127.0.0.1:9092") | given))


@pytest.mark.parametrize(
    ("name", "consequence"),
    [
        ("transaction.state.log.replication.factor", "transactional producers will find no coordinator"),
        ("transaction.state.log.min.isr", "the state of transactions is safe on one replica"),
        ("min.insync.replicas", "acks=all is answered by one replica"),
    ],
)
def test_more_replicas_than_there_are_nodes_are_warned_of(tmp_path: Path, name: str, consequence: str) -> None:
    (line,) = warned(tmp_path, **{name: "2"})
    assert line.startswith(f"{name} is 2, but this is one node: {consequence}")
    assert line.endswith("Set it to 1.")


def test_a_setting_without_effect_is_warned_of_unless_it_has_its_default(tmp_path: Path) -> None:
    remedy = "which has no effect in this release: remove it, or do not count on it."
    assert warned(tmp_path, remote_log_storage_system_enable="true", metric_reporters="a.B", num_io_threads="8") == [
        f"remote.log.storage.system.enable is true, {remedy}",
        f"metric.reporters is a.B, {remedy}",
    ]


def test_a_secret_without_effect_is_not_told(tmp_path: Path) -> None:
    (line,) = warned(tmp_path, ssl_keystore_password="hunter2")
    assert line.startswith("ssl.keystore.password is set, which has no effect")


@pytest.mark.parametrize("key", DYNAMIC_ONLY_BROKER_CONFIGS, ids=lambda key: key.name)
def test_what_a_file_cannot_set_is_told_of_as_unknown_alone(key: ConfigKey, tmp_path: Path) -> None:
    config = BrokerConfig({**single_node_defaults(tmp_path, "127.0.0.1:9092"), key.name: "1000"})
    assert unserved.warnings(config) == []
    assert [line for line in config.warnings if key.name in line]


def test_a_setting_of_one_listener_without_effect_is_told_of(tmp_path: Path) -> None:
    name = "listener.name.plaintext.ssl.keystore.location"
    config = BrokerConfig({**single_node_defaults(tmp_path, "127.0.0.1:9092"), name: "/etc/keys.p12"})
    (line,) = unserved.warnings(config)
    assert line.startswith(f"{name} is /etc/keys.p12, which has no effect")


def test_settings_that_nothing_reads_say_so_and_those_that_are_read_do_not() -> None:
    root = Path(unserved.__file__).parents[1]
    texts = [path.read_text() for path in root.rglob("*.py") if path.parent.parts[-2:] != ("config", "broker")]
    source = "\n".join(texts)
    broker = "\n".join(path.read_text() for path in (root / "broker").rglob("*.py"))
    inherited = {synonym.name for synonyms in TOPIC_SYNONYMS.values() for synonym in synonyms}
    wrong = []
    for key in BROKER_CONFIGS:
        is_read = f'"{key.name}"' in source or key.name.replace(".", "_") in source or key.name in inherited
        if key.standing is Standing.ACTED_ON and not is_read:
            wrong.append(f"{key.name} is not read")
        if key.standing is not Standing.ACTED_ON and re.search(rf'config\.get\w*\("{re.escape(key.name)}"', broker):
            wrong.append(f"{key.name} is read")
    assert wrong == []


def test_a_start_without_a_file_warns_of_nothing(tmp_path: Path) -> None:
    config = BrokerConfig(single_node_defaults(tmp_path, "127.0.0.1:9092"))
    assert [*config.warnings, *unserved.warnings(config)] == []
