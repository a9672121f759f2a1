from pathlib import Path

import pytest

from ottla.config.broker_config import BrokerConfig
from ottla.config.cluster_layout import ClusterIdentity, lay_out, new_identity
from ottla.config.values import ConfigError

HOST = "127.0.0.1"


def settings(count: int) -> list[dict[str, str]]:
    nodes = lay_out(Path("/c"), HOST, range(9092, 9092 + count), range(9192, 9192 + count))
    return [dict(node.settings) for node in nodes]


def test_each_node_has_an_id_a_directory_and_ports_of_its_own() -> None:
    first, second, third = lay_out(Path("/c"), HOST, (9092, 9093, 9094), (9192, 9193, 9194))
    assert [node.client_address for node in (first, second, third)] == [f"{HOST}:{port}" for port in (9092, 9093, 9094)]
    assert first.settings["listeners"] == f"PLAINTEXT://{HOST}:9092,CONTROLLER://{HOST}:9192"
    assert second.settings["log.dirs"] == "/c/node-2/data"
    assert third.properties_file == Path("/c/node-3/server.properties")
    configs = [BrokerConfig(node.settings) for node in (first, second, third)]
    assert [config.node_id for config in configs] == [1, 2, 3]
    assert all(config.quorum_bootstrap_servers == ((HOST, 9192), (HOST, 9193), (HOST, 9194)) for config in configs)


def test_no_more_than_three_nodes_vote() -> None:
    roles = [node["process.roles"] for node in settings(5)]
    assert roles == ["broker,controller"] * 3 + ["broker"] * 2
    assert BrokerConfig(settings(5)[4]).controller_listeners == ()


@pytest.mark.parametrize(("count", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (6, "3", "2")])
def test_replicas_are_as_many_as_the_nodes_allow(count: int, replicas: str, in_sync: str) -> None:
    node = settings(count)[0]
    assert (node["default.replication.factor"], node["min.insync.replicas"]) == (replicas, in_sync)
    assert node["offsets.topic.replication.factor"] == replicas
    assert (node["transaction.state.log.replication.factor"], node["transaction.state.log.min.isr"]) == (
        replicas,
        in_sync,
    )


def test_overrides_hold_for_every_node() -> None:
    nodes = lay_out(Path("/c"), HOST, (9092, 9093), (9192, 9193), {"min.insync.replicas": "2", "num.partitions": "7"})
    assert [node.settings["min.insync.replicas"] for node in nodes] == ["2", "2"]
    assert "num.partitions=7\n" in nodes[1].properties()


def test_controllers_are_formatted_with_the_quorum_and_brokers_without() -> None:
    identity = new_identity(HOST, (9192, 9193, 9194, 9195))
    assert identity.initial_controllers.count("@") == 3
    nodes = lay_out(Path("/c"), HOST, range(9092, 9096), range(9192, 9196))
    assert nodes[0].format_arguments(identity)[-2:] == ["--initial-controllers", identity.initial_controllers]
    assert nodes[3].format_arguments(identity) == [
        "storage",
        "format",
        "-g",
        "-c",
        "/c/node-4/server.properties",
        "-t",
        identity.cluster_id,
    ]


def test_an_identity_is_read_as_it_was_written() -> None:
    identity = new_identity(HOST, (9192,))
    assert ClusterIdentity.of_json(identity.to_json()) == identity


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", '{"cluster_id": "x"}'])
def test_a_file_that_names_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"cluster\.json does not name the cluster"):
        ClusterIdentity.of_json(text)


def test_a_node_says_where_clients_and_controllers_reach_it() -> None:
    nodes = lay_out(Path("/c"), HOST, range(9092, 9096), range(9192, 9196))
    assert [node.controller_address for node in nodes] == [f"{HOST}:9192", f"{HOST}:9193", f"{HOST}:9194", None]
