"""A bank: transfers that move amounts between accounts in transactions, and a ledger that must always balance.

An account is a key in a partition of one of two topics. A transfer writes one amount into each of several partitions;
the amounts add up to nothing. Tellers make transfers as fast as they can, every seventh of which they take back, and
say which ones were committed.

The ledger reads committed records all the time. Reads are not atomic over partitions, so a transfer may show in one
before it does in another; but once a part of it shows, all of it must come, each part once: that is the check, after
which the transfers seen add up to nothing. Nothing of what a teller says it took back may ever show, and everything of
what it says it committed must.
"""

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from harness.agents import SOURCES
from harness.clients.confluent import ConfluentKafka
from harness.clients.java_client import compiled_agent
from harness.java import java
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


class Ledger:
    """Everything that a reader of committed records has seen so far."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ledger",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "reconnect.backoff.max.ms": 200,
                # The broker is away on purpose.
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, part, 0) for topic in TOPICS for part in range(PARTITIONS)])
        # Of a transfer: how many parts it has, and the amount in each place that showed.
        self._parts: dict[str, int] = {}
        self._amounts: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
        self._problems: list[str] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(500, timeout=0.1):
                error = message.error()
                value, topic, partition = message.value(), message.topic(), message.partition()
                if error is not None:
                    self._complain(error)
                elif value is not None and topic is not None and partition is not None:
                    self._enter(value.decode(), topic, partition)
        self._consumer.close()

    def _complain(self, error: KafkaError) -> None:
        if not error.retriable() and error.code() not in {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:
            self._problems.append(str(KafkaException(error)))

    def _enter(self, value: str, topic: str, partition: int) -> None:
        transfer, parts, amount = value.split(" ")
        with self._lock:
            self._parts[transfer] = int(parts)
            amounts = self._amounts[transfer]
            if (topic, partition) in amounts:
                self._problems.append(f"{transfer} twice in {topic}-{partition}")
            amounts[topic, partition] = int(amount)

    def transfers(self) -> set[str]:
        with self._lock:
            return set(self._amounts)

    def _torn(self, transfers: set[str]) -> list[str]:
        with self._lock:
            return [one for one in transfers if len(self._amounts[one]) < self._parts[one]]

    def check(self) -> int:
        """What shows now must become whole, and balances; how many transfers that are."""
        seen = self.transfers()
        eventually(lambda: self._torn(seen), lambda torn: not torn, timeout_s=60)
        assert self._problems == []
        with self._lock:
            assert sum(amount for one in seen for amount in self._amounts[one].values()) == 0
        return len(seen)

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()


class Bank:
    """Tellers at work, and a ledger."""

    def __init__(self, bootstrap: str, tellers: Sequence[Worker]) -> None:
        self.tellers = tellers
        self.ledger = Ledger(bootstrap)

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

        eventually(look, lambda found: found[0] >= enough, timeout_s=90)

    def check(self) -> int:
        """The ledger must come to show all that were committed so far, and balance; how many transfers it shows."""
        committed = self.said("committed")
        eventually(lambda: committed - self.ledger.transfers(), lambda missing: not missing, timeout_s=60)
        return self.ledger.check()

    def close_for_the_day(self) -> None:
        """No more transfers; nothing shows of those that were taken back."""
        for teller in self.tellers:
            assert teller.finish() in {0, 3}
        self.check()
        assert not self.said("aborted") & self.ledger.transfers()


@contextmanager
def bank(bootstrap: str, *tellers: Worker) -> Iterator[Bank]:
    with ExitStack() as closing:
        for teller in tellers:
            closing.callback(teller.close)
        opened = Bank(bootstrap, tellers)
        closing.callback(opened.ledger.close)
        yield opened
