"""A bank: transfers that move amounts between accounts in transactions, and a ledger that must always balance.

An account is a key in a partition of one of two topics. A transfer writes one amount into each of several partitions;
the amounts add up to nothing. Tellers make transfers as fast as they can, every seventh of which they take back, and
say which ones were committed.

The ledger reads committed records all the time, and their sum must be nothing whenever it is taken (`ledger`). Nothing
of what a teller says it took back may ever show, and everything of what it says it committed must.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from harness.agents import SOURCES
from harness.clients.confluent import ConfluentKafka
from harness.clients.java_client import compiled_agent
from harness.java import java
from harness.ledger import Ledger
from harness.servers import Server
from harness.waiting import eventually
from harness.workers import Worker

TOPICS = ("debits", "credits")
PARTITIONS = 4


def open_bank(server: Server) -> None:
    client = ConfluentKafka(server.bootstrap)
    for topic in TOPICS:
        client.create_topic(topic, PARTITIONS, {})
    eventually(client.topics, lambda topics: topics.keys() >= set(TOPICS))


def java_teller(bootstrap: str, name: str, width: int) -> Worker:
    """A teller of transaction.version 2."""

    def command(run: int) -> Sequence[str]:
        return java("Teller", bootstrap, name, f"run{run}", str(width), str(PARTITIONS), classes=(compiled_agent(),))

    return Worker(command)


def confluent_teller(bootstrap: str, name: str, width: int) -> Worker:
    """A teller of the older protocol."""

    def command(run: int) -> Sequence[str]:
        program = [sys.executable, str(SOURCES / "confluent_teller.py")]
        return [*program, bootstrap, name, f"run{run}", str(width), str(PARTITIONS)]

    return Worker(command, os.environ)


class Bank:
    """Tellers at work, and a ledger."""

    def __init__(self, bootstrap: str, tellers: Sequence[Worker], settling_s: float) -> None:
        self.tellers = tellers
        self.ledger = Ledger(bootstrap, TOPICS, PARTITIONS, settling_s=settling_s)

    def said(self, word: str) -> set[str]:
        return {line.split(" ")[1] for teller in self.tellers for line in list(teller.said) if line.startswith(word)}

    def committed(self) -> int:
        return sum(teller.count("committed") for teller in self.tellers)

    def work(self, transfers: int) -> None:
        """Goes on until so many more were committed."""
        enough = self.committed() + transfers

        def look() -> tuple[int, list[list[str]]]:
            for teller in self.tellers:
                teller.revive()
            return self.committed(), [teller.said[-3:] for teller in self.tellers]

        eventually(look, lambda found: found[0] >= enough or self.ledger.problems, timeout_s=90)
        assert not self.ledger.problems, self.ledger.problems

    def check(self) -> int:
        """The ledger must come to show all that were committed so far, and balance; how many transfers it shows."""
        committed = self.said("committed")
        ledger = self.ledger
        eventually(lambda: committed - ledger.transfers(), lambda missing: not missing or ledger.problems, timeout_s=60)
        return ledger.check()

    def close_for_the_day(self) -> None:
        """No more transfers; nothing shows of those that were taken back."""
        for teller in self.tellers:
            assert teller.finish() in {0, 3}
        self.check()
        assert not self.said("aborted") & self.ledger.transfers()


@contextmanager
def bank(bootstrap: str, *tellers: Worker, settling_s: float = 0.0) -> Iterator[Bank]:
    with ExitStack() as closing:
        for teller in tellers:
            closing.callback(teller.close)
        opened = Bank(bootstrap, tellers, settling_s)
        closing.callback(opened.ledger.close)
        yield opened
