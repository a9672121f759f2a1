import subprocess
import sys
from pathlib import Path

import pytest

from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.listeners import Listener
from ottla.config.values import ConfigError, Password

# What Kafka's own distribution ships as config/server.properties, as far as it sets anything.
KAFKAS_FILE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
    "log.dirs": "/tmp/kraft-combined-logs",
}


def lone(**properties: str) -> BrokerConfig:
    """A node by itself with a few more settings; underscores stand for dots."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig({**single_node_defaults(Path("/data"), "127.0.0.1:9092"), **given})


def test_a_start_without_a_file_has_what_a_single_node_needs() -> None:
    config = lone()
    assert config.node_id == 1
    assert config.is_broker
    assert config.is_controller
    assert config.is_lone_voter
    assert config.log_dirs == (Path("/data"),)
    assert config.metadata_log_dir == Path("/data")
    assert config.listeners == config.advertised_listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"),)
    assert config.get_int("offsets.topic.replication.factor") == 1
    assert config.get_int("transaction.state.log.min.isr") == 1
    assert config.get_int("offsets.topic.num.partitions") == 50
    assert config.warnings == ()


def test_the_file_that_kafka_ships_is_understood() -> None:
    config = BrokerConfig(KAFKAS_FILE)
    assert config.warnings == ()
    assert [listener.name for listener in config.broker_listeners] == ["PLAINTEXT"]
    assert [listener.port for listener in config.controller_listeners] == [9093]
    assert [str(listener) for listener in config.advertised_listeners] == ["PLAINTEXT://localhost:9092"]
    assert config.quorum_bootstrap_servers == (("localhost", 9093),)
    assert config.get_int("offsets.topic.replication.factor") == 3


def test_a_file_from_before_kraft_starts_a_node_and_warns() -> None:
    config = BrokerConfig({"broker.id": "3", "zookeeper.connect": "zk:2181", "port": "9095", "num.partition": "2"})
    assert config.node_id == 3
    assert config.get_int("broker.id") == 3
    assert config.is_lone_voter
    warnings = "\n".join(config.warnings)
    assert "zookeeper.connect is ignored" in warnings
    assert "port is ignored: write listeners=PLAINTEXT://:9095" in warnings
    assert "Unknown configuration num.partition is ignored: did you mean num.partitions?" in warnings
    assert "process.roles is not set" in warnings


def test_an_unknown_name_warns_and_settings_of_plug_ins_do_not() -> None:
    config = lone(**{"rsm.config.bucket": "b", "listener.name.internal.foo": "x", "quite.unheard.of": "1"})
    assert [line.split(" is ")[0] for line in config.warnings] == [
        "Unknown configuration listener.name.internal.foo",
        "Unknown configuration quite.unheard.of",
    ]


def test_a_listeners_own_setting_is_typed_like_the_general_one() -> None:
    config = lone(**{"listener.name.plaintext.max.connections": "7"})
    assert config.get_int("listener.name.plaintext.max.connections") == 7
    with pytest.raises(ConfigError, match=r"Not a number of type INT"):
        lone(**{"listener.name.plaintext.max.connections": "many"})


def test_log_dir_is_the_fallback_of_log_dirs() -> None:
    given = {"node.id": "1", "log.dir": "/a"}
    assert BrokerConfig(given).log_dirs == (Path("/a"),)
    assert BrokerConfig({**given, "log.dirs": "/b, /c"}).log_dirs == (Path("/b"), Path("/c"))
    assert BrokerConfig({"node.id": "1"}).log_dirs == (Path("/tmp/kafka-logs"),)


def test_the_metadata_log_may_have_its_own_directory() -> None:
    assert lone(metadata_log_dir="/meta").metadata_log_dir == Path("/meta")


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({}, 168 * 3_600_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_retention_wins(settings: dict[str, str], retention_ms: int) -> None:
    assert lone(**settings).log_retention_ms == retention_ms


def test_a_listener_without_host_is_advertised_under_this_hosts_name() -> None:
    (listener,) = BrokerConfig(single_node_defaults(Path("/data"), "0.0.0.0:9092")).advertised_listeners
    assert listener.host not in ("", "0.0.0.0")


def test_several_listeners_are_advertised_under_their_own_names() -> None:
    config = lone(
        listeners="PLAINTEXT://:9092,OUTSIDE://:9094",
        advertised_listeners="PLAINTEXT://inner:9092,OUTSIDE://outer.example.com:443",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
    )
    assert [listener.address for listener in config.advertised_listeners] == ["inner:9092", "outer.example.com:443"]


@pytest.mark.parametrize("listen", ["9092", "localhost", "localhost:", "localhost:http"])
def test_a_listen_address_needs_host_and_port(listen: str) -> None:
    with pytest.raises(ConfigError, match="write HOST:PORT"):
        single_node_defaults(Path("/data"), listen)


def test_a_required_setting_is_missed_by_name() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "node\.id"'):
        BrokerConfig({"process.roles": "broker,controller"})


def test_a_file_without_roles_describes_a_lone_node() -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:9092"})
    assert (config.node_id, config.is_lone_voter, config.controller_listener_names) == (1, True, ("CONTROLLER",))
    assert len(config.warnings) == 2


def test_fixed_voters_are_read_with_their_addresses() -> None:
    config = lone(
        controller_quorum_voters="1@[::1]:9093,2@b:9094", listeners="PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9093"
    )
    assert config.quorum_voters == {1: ("::1", 9093), 2: ("b", 9094)}
    assert not config.is_lone_voter


def test_a_secret_does_not_show() -> None:
    config = lone(ssl_key_password="hunter2")
    assert config.get("ssl.key.password") == Password("hunter2")
    assert "hunter2" not in repr(config.get("ssl.key.password"))


def test_the_configuration_imports_nothing_heavy() -> None:
    code = "import ottla.config.broker_config, sys; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert {"asyncio", "socket", "ssl", "difflib", "argparse", "json"}.isdisjoint(modules)


@pytest.mark.parametrize(
    ("listener", "servers", "is_founder"),
    [
        ("CONTROLLER://kafka-1:9093", "kafka-1:9093", True),
        ("CONTROLLER://kafka-1:9093", "localhost:9093", True),
        ("CONTROLLER://:9093", "localhost:9093", True),
        ("CONTROLLER://kafka-1:9093", "kafka-1:9093,kafka-2:9093,kafka-3:9093", False),
        ("CONTROLLER://kafka-1:9093", "kafka-2:9093", False),
        ("CONTROLLER://kafka-1:9093", "kafka-1:9094", False),
    ],
)
def test_a_node_that_names_no_controller_but_itself_founds_a_cluster(
    listener: str, servers: str, is_founder: bool
) -> None:
    given = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://kafka-1:9092,{listener}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": servers,
    }
    assert BrokerConfig(given).is_founder is is_founder
