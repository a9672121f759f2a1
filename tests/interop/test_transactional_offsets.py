"""Offsets inside transactions, as clients, tools and the files on disk show them."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from harness.clients.confluent import ConfluentKafka
from harness.clients.java_client import JavaClient
from harness.command_line import CommandLine, SideBySide
from harness.servers import Server
from harness.waiting import eventually

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
OFFSETS_FORMATTER = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
TIMEOUT_S = 30


class Transaction:
    """A transaction of its own producer, begun."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0}
        )
        self._producer.init_transactions(TIMEOUT_S)
        self._producer.begin_transaction()

    def move(self, group: str, topic: str, *offsets: int) -> None:
        """Commits an offset in each of the first partitions."""
        reader = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
        positions = [TopicPartition(topic, partition, offset) for partition, offset in enumerate(offsets)]
        self._producer.send_offsets_to_transaction(positions, reader.consumer_group_metadata(), TIMEOUT_S)
        reader.close()

    def commit(self) -> None:
        self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TIMEOUT_S)


@pytest.fixture
def topic(timed_topic: Callable[..., str]) -> str:
    """Two partitions, with 20 and 5 records."""
    return timed_topic(20, 5)


@pytest.fixture
def group(ottla: CommandLine, topic: str, fresh_name: Callable[[], str]) -> str:
    """A group without members that stands at 10 and 5."""
    name = fresh_name()
    assert ottla("groups", "reset", name, "--topic", topic, "--to", "10", "--execute").code == 0
    return name


@pytest.fixture
def begin(server: Server, fresh_name: Callable[[], str]) -> Callable[[], Transaction]:
    return lambda: Transaction(server.bootstrap, fresh_name())


def stable(bootstrap: str, group: str, topic: str, timeout_s: float = TIMEOUT_S) -> list[int]:
    """Where a reader of committed records would begin: it waits while a transaction may still change that."""
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "isolation.level": "read_committed"})
    try:
        found = reader.committed([TopicPartition(topic, partition) for partition in (0, 1)], timeout_s)
    finally:
        reader.close()
    return [one.offset for one in found]


def committed(reference: ConfluentKafka, group: str, topic: str) -> list[int | None]:
    return [reference.committed(group, topic, partition) for partition in (0, 1)]


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 15), (False, 10)])
def test_who_takes_over_waits_for_the_end_of_the_transaction(
    server: Server, begin: Callable[[], Transaction], group: str, topic: str, is_commit: bool, offset: int
) -> None:
    transaction = begin()
    transaction.move(group, topic, 15)
    with pytest.raises(KafkaException) as raised:
        stable(server.bootstrap, group, topic, timeout_s=0.5)
    assert raised.value.args[0].code() == KafkaError._TIMED_OUT
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(stable, server.bootstrap, group, topic)
        (transaction.commit if is_commit else transaction.abort)()
        assert waiting.result(TIMEOUT_S) == [offset, 5]


def test_groups_are_described_with_what_is_committed(
    java: JavaClient, ottla: CommandLine, begin: Callable[[], Transaction], group: str, topic: str
) -> None:
    beside = SideBySide(java, ottla)

    def described() -> list[object]:
        printed = beside(
            "kafka-consumer-groups",
            CONSUMER_GROUPS,
            "--bootstrap-server",
            java.bootstrap,
            "--describe",
            "--group",
            group,
        )
        rows = sorted(line.split()[2:4] for line in printed.out.splitlines() if line.startswith(group))
        [ours] = json.loads(ottla("groups", "describe", group, "-o", "json").out)
        assert ours["state"] == "Empty"
        return rows

    transaction = begin()
    transaction.move(group, topic, 15)
    assert described() == [["0", "10"], ["1", "5"]]
    transaction.commit()
    assert eventually(described, lambda rows: rows != [["0", "10"], ["1", "5"]]) == [["0", "15"], ["1", "5"]]


def test_a_reset_by_hand_outlives_the_transaction_that_came_before_it(
    server: Server,
    ottla: CommandLine,
    reference: ConfluentKafka,
    begin: Callable[[], Transaction],
    group: str,
    topic: str,
) -> None:
    transaction = begin()
    transaction.move(group, topic, 15)
    assert ottla("groups", "reset", group, "--topic", topic, "--to", "3", "--execute").code == 0
    assert committed(reference, group, topic) == [3, 3]
    transaction.commit()
    assert stable(server.bootstrap, group, topic) == [3, 3]


def test_nothing_comes_back_to_a_group_that_was_deleted(
    server: Server,
    tool: Callable[..., str],
    reference: ConfluentKafka,
    begin: Callable[[], Transaction],
    group: str,
    topic: str,
) -> None:
    transaction = begin()
    transaction.move(group, topic, 15, 4)
    assert "successful" in tool(CONSUMER_GROUPS, "--delete", "--group", group)
    transaction.commit()
    assert stable(server.bootstrap, group, topic) == [-1001, -1001]
    assert group not in tool(CONSUMER_GROUPS, "--list").split()


def test_offsets_that_were_deleted_do_not_come_back(
    server: Server, tool: Callable[..., str], begin: Callable[[], Transaction], group: str, topic: str
) -> None:
    transaction = begin()
    transaction.move(group, topic, 15, 4)
    tool(CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", f"{topic}:0")
    transaction.commit()
    assert stable(server.bootstrap, group, topic) == [-1001, 4]


@pytest.fixture
def small(start_server: Callable[..., Server]) -> Server:
    """A server whose groups are all in one partition."""
    return start_server({"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"})


def write_three(bootstrap: str) -> Iterator[Transaction]:
    """A transaction that is committed, one that is aborted, and one that the caller keeps open."""
    client = ConfluentKafka(bootstrap)
    client.create_topic("t", 2, {})
    for number, end in enumerate((Transaction.commit, Transaction.abort, None)):
        transaction = Transaction(bootstrap, f"writer-{number}")
        transaction.move("g", "t", 10 + number)
        if end is not None:
            end(transaction)
        else:
            yield transaction


def test_a_killed_server_knows_what_was_pending(small: Server) -> None:
    [transaction] = write_three(small.bootstrap)
    small.kill()
    small.start()
    reference = ConfluentKafka(small.bootstrap)
    assert committed(reference, "g", "t") == [10, None]
    with pytest.raises(KafkaException):
        stable(small.bootstrap, "g", "t", timeout_s=0.5)
    transaction.commit()
    assert stable(small.bootstrap, "g", "t") == [12, -1001]


def test_kafkas_decoders_read_what_is_written(
    java: JavaClient, capsys: pytest.CaptureFixture[str], small: Server
) -> None:
    [_] = write_three(small.bootstrap)
    place = ("--topic", "__consumer_offsets", "--partition", "0", "--offset", "earliest")
    until = ("--timeout-ms", "3000", "--formatter", OFFSETS_FORMATTER)

    def moves(*isolation: str) -> list[int]:
        printed = java.tool(CONSOLE_CONSUMER, "--bootstrap-server", small.bootstrap, *place, *until, *isolation)
        decoder, found, at = json.JSONDecoder(), [], 0
        while at < len(printed.out.rstrip()):
            row, at = decoder.raw_decode(printed.out, at)
            found.append(row["value"]["data"]["offset"])
        return found

    assert moves() == [10, 11, 12]
    assert moves("--isolation-level", "read_committed") == [10]

    small.stop()
    beside = SideBySide(java, CommandLine(capsys))
    log = next(Path(small.data).rglob("__consumer_offsets-0/*.log"))
    printed = beside("kafka-dump-log", DUMP_LOG, "--offsets-decoder", "--print-data-log", "--files", str(log)).out
    assert [line.split("endTxnMarker: ")[1].split()[0] for line in printed.splitlines() if "endTxn" in line] == [
        "COMMIT",
        "ABORT",
    ]
    assert printed.count("isTransactional: true isControl: false") == 3
