import asyncio

from harness.ports import free_port
from ottla.cli.access.cluster_trouble import ClusterTrouble, find_trouble
from ottla.cli.exits import CommandError, ExitCode
from ottla.client import Client
from ottla.client.addresses import Address
from ottla.client.admin.brokers import BrokerDescription


def broker(node_id: int, *, is_fenced: bool = False) -> BrokerDescription:
    return BrokerDescription(node_id, Address("here", 9090 + node_id), is_fenced=is_fenced)


def test_of_a_cluster_that_is_well_nothing_is_told() -> None:
    well = ClusterTrouble((broker(1), broker(2)))
    assert well.findings() == []
    assert well.remedy() is None


def test_the_controllers_come_first_then_brokers_by_name() -> None:
    brokers = (broker(1), broker(2), broker(3), broker(4, is_fenced=True))
    lost = CommandError("the controllers do not answer", ExitCode.UNAVAILABLE)
    found = ClusterTrouble(brokers, brokers[1:3], lost)
    assert found.findings() == [
        "the controllers do not answer",
        "1 of 3 brokers answers: not broker 2 at here:9092, broker 3 at here:9093",
        "the controller does not hear from broker 4 at here:9094: fenced",
    ]
    remedy = found.remedy()
    assert remedy is not None and "`ottla cluster up` starts" in remedy


def test_many_brokers_are_counted_rather_than_named() -> None:
    brokers = tuple(map(broker, range(1, 9)))
    (told,) = ClusterTrouble(brokers, brokers).findings()
    assert told.startswith("0 of 8 brokers answer: not broker 1 at here:9091, ")
    assert told.endswith(", broker 5 at here:9095 and 3 more")


def test_a_cluster_that_is_gone_is_told_so() -> None:
    found = asyncio.run(find_trouble(Client(f"127.0.0.1:{free_port()}")))
    assert found.findings() == ["no broker answers any more"]
