"""An instance that freezes in the middle of a transaction, and goes on when others have done its work."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Record
from harness.clients.java_client import compiled_agent
from harness.java import java
from harness.servers import Server
from harness.transactions import committed_offsets
from harness.waiting import eventually
from harness.workers import Worker

StartServer = Callable[..., Server]

NUMBERS = [b"%d" % number for number in range(10)]


@pytest.fixture
def frozen(start_server: StartServer) -> Iterator["Frozen"]:
    with ExitStack() as closing:
        found = Frozen(start_server({"group.min.session.timeout.ms": "1000"}))
        for worker in found.workers:
            closing.callback(worker.close)
        yield found


class Frozen:
    """A topic of two partitions, and the instance that read both, wrote the results, and froze before its commit."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.client = ConfluentKafka(server.bootstrap)
        for topic in ("input", "output"):
            self.client.create_topic(topic, 2, {})
            eventually(self.client.topics, lambda topics, topic=topic: topics.get(topic) == 2)
        for partition in range(2):
            self.client.produce("input", [Record(number) for number in NUMBERS], partition=partition)
        self.workers: list[Worker] = []
        self.first = self.start("a", "stepwise=")
        self.first.wait_until_said("sent")
        self.first.freeze()

    def start(self, transactional_id: str, *more: str) -> Worker:
        options = {
            "bootstrap": self._server.bootstrap,
            "input": "input",
            "output": "output",
            "group": "transformers",
            "transactional-id": transactional_id,
            "session-timeout-ms": "2000",
            "batch": "100",
        }
        arguments = [*(f"{name}={value}" for name, value in options.items()), *more]
        worker = Worker(lambda _run: java("Transformer", *arguments, classes=(compiled_agent(),)))
        self.workers.append(worker)
        return worker

    def wait_until_done(self) -> None:
        eventually(
            lambda: committed_offsets(self._server.bootstrap, "transformers", "input", 2),
            lambda offsets: offsets == [len(NUMBERS)] * 2,
            timeout_s=60,
        )

    def go_on(self) -> None:
        self.first.thaw()
        self.first.tell()

    def check_output(self) -> None:
        """Every number once, though two instances wrote them; a last record shows that nothing stands behind them."""
        for partition in range(2):
            self.client.produce("output", [Record(b"end")], partition=partition)
            values = self.client.read("output", partition, 0, len(NUMBERS) + 1, isolation=COMMITTED)
            assert [one.record.value for one in values] == [*NUMBERS, b"end"]


def test_an_instance_whose_partitions_another_one_took_cannot_commit_late(frozen: Frozen) -> None:
    """Refused because of the group's generation: the transactional ids have nothing to do with each other."""
    second = frozen.start("b")
    frozen.wait_until_done()
    second.wait_until_said("committed")
    frozen.go_on()
    assert frozen.first.wait() == 5
    assert frozen.first.count("committed") == 0
    [refusal] = [line for line in frozen.first.said if line.startswith("refused")]
    assert refusal == "refused CommitFailedException"
    assert frozen.first.count("aborted") == 1
    second.finish()
    frozen.check_output()


def test_an_instance_whose_successor_has_its_transactional_id_cannot_commit_late(frozen: Frozen) -> None:
    """Refused because of the producer's epoch; what it wrote was aborted when the successor came."""
    successor = frozen.start("a")
    frozen.wait_until_done()
    frozen.go_on()
    assert frozen.first.wait() in {3, 4}
    assert frozen.first.count("committed") == 0
    successor.finish()
    frozen.check_output()
