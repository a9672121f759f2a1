"""What tasks write in one transaction of their driver: side by side, once each, and never after it has ended."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pytest

from harness.servers import Server
from harness.transactions import read_by_confluent
from ottla.client.sync import Client
from ottla.client.sync_transaction_owner import TransactionOwner
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.sink.options import sink_options
from ottla.pipeline.writing.transaction import Transaction, write_partitions

NewTopic = Callable[..., str]


class Driver:
    """Owns transactions and hands them out, as the driver of a sink does."""

    def __init__(self, client: Client, bootstrap: str, topic: str, name: str) -> None:
        self._options = sink_options({"kafka.bootstrap.servers": bootstrap})
        self._topic = topic
        self._name = name
        self.owner: TransactionOwner = client.transaction_owner(name)
        self.owner.init()

    def begin(self) -> Transaction:
        self.owner.begin()
        return Transaction(self._options, self._name, self.owner.hand_out(), topic=self._topic)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Committed in the end, or aborted if something failed."""
        transaction = self.begin()
        try:
            yield transaction
        except PipelineError:
            self.owner.abort()
            raise
        self.owner.commit()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.bootstrap) as opened:
        yield opened


def rows(*values: bytes, partition: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict(
        {"value": pa.array(values), "partition": pa.array([partition] * len(values), pa.int32())}
    )


def shown(server: Server, topic: str, partitions: int) -> dict[int, list[bytes]]:
    found = read_by_confluent(server.bootstrap, topic, partitions)
    return {partition: [value for _, value in rows] for partition, rows in found.items()}


def test_tasks_that_add_their_partitions_at_the_same_time_wait_for_each_other(
    server: Server, client: Client, new_topic: NewTopic
) -> None:
    tasks, transactions = 8, 5
    topic = new_topic(tasks)
    driver = Driver(client, server.bootstrap, topic, topic)
    for turn in range(transactions):
        value = b"%d" % turn
        with driver.transaction() as transaction, ThreadPoolExecutor(tasks) as pool:
            writing = [
                pool.submit(write_partitions, rows(value, value, partition=task), transaction) for task in range(tasks)
            ]
            written = [one.target.partition for task in writing for one in task.result()]
        assert written == list(range(tasks))
    expected = [b"%d" % turn for turn in range(transactions) for _ in range(2)]
    assert shown(server, topic, tasks) == dict.fromkeys(range(tasks), expected)


def test_a_second_attempt_of_a_task_is_refused_and_the_batch_is_written_in_a_new_transaction(
    server: Server, client: Client, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    driver = Driver(client, server.bootstrap, topic, topic)
    with driver.transaction() as transaction:
        write_partitions(rows(b"before", partition=0), transaction)
    refused = pytest.raises(PipelineError, match=f"has written to {topic}-0 in this transaction already")
    with refused, driver.transaction() as transaction:
        write_partitions(rows(b"a", b"b", partition=0), transaction)
        # Other partitions are none of its business.
        write_partitions(rows(b"x", partition=1), transaction)
        write_partitions(rows(b"b", b"a", partition=0), transaction)
    with driver.transaction() as transaction:
        write_partitions(rows(b"a", b"b", partition=0), transaction)
    assert shown(server, topic, 2) == {0: [b"before", b"a", b"b"], 1: []}


@pytest.mark.parametrize("is_taken_over", [False, True])
def test_a_task_that_comes_after_the_end_is_refused(
    server: Server, client: Client, new_topic: NewTopic, is_taken_over: bool
) -> None:
    topic = new_topic(2)
    driver = Driver(client, server.bootstrap, topic, topic)
    transaction = driver.begin()
    write_partitions(rows(b"in time", partition=0), transaction)
    if is_taken_over:
        driver = Driver(client, server.bootstrap, topic, topic)
    else:
        driver.owner.abort()
    with pytest.raises(PipelineError, match="another driver has taken over the transactional id"):
        write_partitions(rows(b"late", partition=1), transaction)
    with driver.transaction() as transaction:
        write_partitions(rows(b"next", partition=1), transaction)
    assert shown(server, topic, 2) == {0: [], 1: [b"next"]}
