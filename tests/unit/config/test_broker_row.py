import pytest

from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_row import brokers_in_a_row
from ottla.config.values import ConfigError

FIRST = {
    "process.roles": "broker,controller",
    "node.id": "10",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9192",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/a,/b",
}


def row(count: int, **given: str) -> list[BrokerConfig]:
    settings = FIRST | {name.replace("_", "."): value for name, value in given.items()}
    return [BrokerConfig(one) for one in brokers_in_a_row(settings, count, "host-1")]


def test_each_broker_has_the_next_id_the_next_ports_and_directories_of_its_own() -> None:
    brokers = row(3)
    assert [broker.node_id for broker in brokers] == [10, 11, 12]
    assert [broker.broker_listeners[0].port for broker in brokers] == [9092, 9093, 9094]
    assert [list(map(str, broker.log_dirs)) for broker in brokers] == [
        [f"/a/broker-{node_id}", f"/b/broker-{node_id}"] for node_id in (10, 11, 12)
    ]


def test_the_first_alone_votes_and_the_others_know_where() -> None:
    first, second = row(2)
    assert (first.is_controller, second.is_controller, second.is_broker) == (True, False, True)
    assert second.controller_listeners == ()
    assert first.quorum_bootstrap_servers == second.quorum_bootstrap_servers == (("127.0.0.1", 9192),)


def test_a_quorum_elsewhere_stays_as_it_is() -> None:
    voters = "1@c1:9093,2@c2:9093"
    brokers = row(2, process_roles="broker", listeners="PLAINTEXT://h:9092", controller_quorum_voters=voters)
    assert all(set(broker.quorum_voters) == {1, 2} for broker in brokers)
    assert not any(broker.is_controller for broker in brokers)


def test_all_of_them_are_in_one_rack() -> None:
    assert [broker.rack for broker in row(2)] == ["host-1", "host-1"]
    assert [broker.rack for broker in row(2, broker_rack="r7")] == ["r7", "r7"]


def test_advertised_ports_are_in_a_row_too() -> None:
    brokers = row(2, advertised_listeners="PLAINTEXT://example:19092")
    assert [broker.advertised_listeners[0].address for broker in brokers] == ["example:19092", "example:19093"]


@pytest.mark.parametrize(
    ("count", "given", "said"),
    [
        (0, {}, "0 brokers: choose a number from 1 to 100"),
        (101, {}, "101 brokers"),
        (2, {"process_roles": "controller", "listeners": "CONTROLLER://127.0.0.1:9192"}, "only brokers stand in a row"),
        (2, {"listeners": "PLAINTEXT://127.0.0.1:9092"}, "The other brokers find no controller"),
        (9, {"listeners": "PLAINTEXT://127.0.0.1:65530,CONTROLLER://127.0.0.1:9192"}, "would need port 65536"),
    ],
)
def test_what_cannot_be_a_row_is_refused(count: int, given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        row(count, **given)


def test_ports_that_would_meet_are_refused() -> None:
    meeting = "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    with pytest.raises(
        ConfigError, match="Port 9093 is that of listener CONTROLLER of broker 10 and of listener PLAIN"
    ):
        row(2, listeners=meeting)
    assert len(row(1, listeners=meeting)) == 1
