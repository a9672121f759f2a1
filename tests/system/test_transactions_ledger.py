"""The ledger that proves others right has to be able to prove them wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from harness.bank import PARTITIONS, TOPICS, open_bank
from harness.ledger import Ledger
from harness.servers import Server
from harness.waiting import eventually


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    server = start_server()
    open_bank(server)
    return server


@contextmanager
def opened(server: Server) -> Iterator[Ledger]:
    ledger = Ledger(server.bootstrap, TOPICS, PARTITIONS)
    try:
        yield ledger
    finally:
        ledger.close()


def enter(server: Server, *entries: tuple[str, int, str]) -> None:
    """Outside of transactions: all of it shows as it comes."""
    producer = Producer({"bootstrap.servers": server.bootstrap})
    for topic, partition, value in entries:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def check_all(ledger: Ledger, *transfers: str) -> int:
    eventually(ledger.transfers, lambda seen: seen >= set(transfers))
    return ledger.check()


def test_whole_transfers_balance(server: Server) -> None:
    enter(server, ("debits", 0, "a 2 5"), ("credits", 1, "a 2 -5"), ("debits", 3, "b 2 7"), ("debits", 2, "b 2 -7"))
    with opened(server) as ledger:
        assert check_all(ledger, "a", "b") == 2


def test_a_transfer_of_which_a_part_is_missing_shows_in_the_sum(server: Server) -> None:
    enter(server, ("debits", 0, "a 2 5"), ("credits", 1, "a 2 -5"), ("debits", 0, "b 2 7"))
    with opened(server) as ledger, pytest.raises(AssertionError, match=r"the sum over 2 transfers is 7; torn: \['b'\]"):
        check_all(ledger, "a", "b")


def test_a_part_that_comes_twice_is_noticed(server: Server) -> None:
    enter(server, ("credits", 1, "a 2 -5"), ("debits", 0, "a 2 5"), ("debits", 0, "a 2 5"))
    with opened(server) as ledger, pytest.raises(AssertionError, match="a twice in debits-0"):
        check_all(ledger, "a")


def test_what_was_committed_is_in_the_sum_and_what_was_taken_back_is_not(server: Server) -> None:
    teller = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": "teller"})
    teller.init_transactions(30)
    with opened(server) as ledger:
        for transfer, is_committed in (("kept", True), ("taken-back", False), ("last", True)):
            teller.begin_transaction()
            for topic, amount in (("debits", 5), ("credits", -5)):
                teller.produce(topic, f"{transfer} 2 {amount}", partition=0)
            assert teller.flush(30) == 0
            if is_committed:
                teller.commit_transaction(30)
            else:
                teller.abort_transaction(30)
        assert check_all(ledger, "kept", "last") == 2
        assert ledger.transfers() == {"kept", "last"}
