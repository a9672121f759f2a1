"""Requests of transactions that come late, come twice, or whose answers are lost: no transaction is torn by them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest

from harness.bank import bank, confluent_teller, java_teller, open_bank
from harness.faulty_proxy import Fault, FaultyProxy, Plan, every
from harness.ports import free_port
from harness.servers import Server
from harness.workers import Worker
from ottla.protocol.api_keys import ApiKey

StartServer = Callable[..., Server]
StartBehindProxy = Callable[[Mapping[int, Plan]], tuple[Server, FaultyProxy, str]]
StartTeller = Callable[[str, str, int], Worker]

TRANSFERS = 60

IN_ORDER = (Fault.TWICE, Fault.DELAYED, Fault.ANSWER_LOST)


@pytest.fixture
def start_behind_proxy(start_server: StartServer) -> Iterator[StartBehindProxy]:
    with ExitStack() as closing:

        def start(plans: Mapping[int, Plan]) -> tuple[Server, FaultyProxy, str]:
            address = f"127.0.0.1:{free_port()}"
            server = start_server({"advertised.listeners": f"PLAINTEXT://{address}"})
            proxy = FaultyProxy(int(address.split(":")[1]), server.port, plans)
            proxy.start()
            closing.callback(proxy.stop)
            open_bank(server)
            return server, proxy, address

        yield start


@pytest.mark.parametrize("start_teller", [java_teller, confluent_teller])
@pytest.mark.parametrize(
    "plans",
    [
        {ApiKey.END_TXN: every(3, *IN_ORDER)},
        {ApiKey.PRODUCE: every(5, *IN_ORDER)},
        {ApiKey.ADD_PARTITIONS_TO_TXN: every(3, *IN_ORDER), ApiKey.INIT_PRODUCER_ID: every(1, Fault.TWICE)},
    ],
    ids=["EndTxn", "Produce", "AddPartitionsToTxn"],
)
def test_nothing_is_torn_by_what_comes_late_or_twice_or_is_not_heard(
    start_behind_proxy: StartBehindProxy, start_teller: StartTeller, plans: Mapping[int, Plan]
) -> None:
    _, proxy, address = start_behind_proxy(plans)
    with bank(address, start_teller(address, "a", 3), start_teller(address, "b", 3)) as opened:
        opened.work(TRANSFERS)
        opened.close_for_the_day()
    assert proxy.done


@pytest.mark.parametrize("api_key", [ApiKey.END_TXN, ApiKey.PRODUCE])
def test_nothing_is_torn_by_what_comes_again_in_the_middle_of_the_next_transaction(
    start_behind_proxy: StartBehindProxy, api_key: ApiKey
) -> None:
    """Of transaction.version 2: with the protocol before it, an end that comes again ends the next transaction."""
    _, proxy, address = start_behind_proxy({api_key: every(2, Fault.AGAIN_LATER)})
    with bank(address, java_teller(address, "a", 3), java_teller(address, "b", 3)) as opened:
        opened.work(TRANSFERS)
        opened.close_for_the_day()
    assert proxy.done[api_key, Fault.AGAIN_LATER] > 10
