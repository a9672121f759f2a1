"""`ottla transactions`, `ottla produce` in transactions, and `ottla kafka-transactions` beside Apache's own tool.

The server does not check that partitions belong to transactions, as Apache Kafka did not before 3.6: only so can a
transaction be left hanging.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from harness.clients.java_client import JavaClient, Printed
from harness.command_line import CommandLine
from harness.servers import Server
from harness.waiting import eventually
from ottla.client import Client, GroupMetadata, NewRecord, NewTopic, ProducerSettings, TopicPartition, sync
from ottla.client.produce_request import produce
from ottla.client.records import encode_records

TRANSACTIONS: Final = "org.apache.kafka.tools.TransactionsCommand"
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True)
class Scene:
    """A topic of two partitions: a transaction hangs in the first, another one is open there, a third one was ended."""

    server: Server
    topic: str
    open_id: str
    ended_id: str
    hanging_id: str


@pytest.fixture(scope="module")
def unverified(start_servers: Callable[..., Server]) -> Server:
    return start_servers({"transaction.partition.verification.enable": "false"})


@pytest.fixture
def client(unverified: Server) -> Iterator[sync.Client]:
    with sync.Client(unverified.bootstrap) as opened:
        yield opened


@pytest.fixture
def scene(unverified: Server, client: sync.Client, fresh_name: Callable[[], str]) -> Scene:
    topic = fresh_name()
    made = Scene(unverified, topic, f"{topic}-open", f"{topic}-ended", f"{topic}-hanging")
    client.admin.create_topics([NewTopic(topic, 2, 1)])
    write_hanging(client, made)
    for name in (made.ended_id, made.open_id):
        # Never closed: that would abort what is open.
        producer = client.producer(ProducerSettings(transactional_id=name))
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"value", partition=0).result()
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, GroupMetadata(topic))
        if name == made.ended_id:
            producer.commit_transaction()
    # The marker of the ended one comes after its commit was answered.
    eventually(lambda: open_count(client, topic), lambda count: count == 2)
    return made


def write_hanging(client: sync.Client, scene: Scene) -> None:
    """A record in a transaction that its coordinator never hears of, an hour ago."""
    identity = client.init_producer_id(scene.hanging_id)
    batch = encode_records(
        [NewRecord(b"hanging", timestamp_ms=round(time.time() * 1000) - HOUR_MS)],
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    partition = TopicPartition(scene.topic, 0)

    async def send(core: Client) -> None:
        async def attempt() -> None:
            connection = await core.cluster.connection((await core.cluster.leader(partition)).node_id)
            sent = {partition: batch}
            answers = await produce(
                core.cluster, connection, sent, acks=-1, transactional_id=scene.hanging_id, is_added=True
            )
            if (error := answers[partition].error) is not None:
                raise error

        await core.cluster.retry(attempt, what="producing")

    client._thread.run(send(client._core))


def open_count(client: sync.Client, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    producers = client.admin.describe_producers([partition])[partition].producers
    return sum(producer.has_open_transaction for producer in producers)


@pytest.fixture
def ottla_there(ottla: CommandLine, unverified: Server, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line, for that server."""
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", unverified.bootstrap)
    return ottla


# Ottla's own command.


def rows_of(printed: Printed) -> list[dict[str, object]]:
    assert printed.code == 0, printed
    rows: list[dict[str, object]] = json.loads(printed.out)
    return rows


def test_transactions_are_listed_by_state_age_producer_and_name(ottla_there: CommandLine, scene: Scene) -> None:
    def listed(*filters: str) -> dict[object, object]:
        rows = rows_of(ottla_there("transactions", "list", "-o", "json", *filters))
        return {row["transactional_id"]: row["state"] for row in rows}

    everything = listed()
    assert everything[scene.open_id] == "Ongoing"
    assert everything[scene.hanging_id] == "Empty"
    eventually(lambda: listed()[scene.ended_id], lambda state: state == "CompleteCommit")
    assert set(listed("--pattern", f"{scene.topic}-(open|ended)")) == {scene.open_id, scene.ended_id}
    ongoing = listed("--state", "ongoing,prepareabort")
    assert scene.open_id in ongoing
    assert not {scene.ended_id, scene.hanging_id} & set(ongoing)
    assert set(listed("--longer-than", "0ms", "--pattern", f"{scene.topic}.*")) == {scene.open_id}
    assert scene.open_id not in listed("--longer-than", "1h")
    [row] = rows_of(ottla_there("transactions", "list", "-o", "json", "--pattern", scene.open_id))
    assert list(listed("--producer-id", str(row["producer_id"]))) == [scene.open_id]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("list", "--state", "lost"), "'lost' is none of them"),
        (("list", "--longer-than", "5"), "'5' is not a length of time"),
        (("list", "--producer-id", "x"), "write numbers"),
        (("abort", "billing-1"), "ottla transactions force-terminate billing-1"),
        (("abort", "orders:0,1", "--start-offset", "0"), "is not one partition"),
        (("abort", "orders:0"), "--start-offset OFFSET says where it begins"),
        (("find-hanging", "--max-transaction-timeout", "soon"), "'soon' is not a length of time"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2(ottla: CommandLine, arguments: tuple[str, ...], why: str) -> None:
    printed = ottla("transactions", *arguments)
    assert (printed.code, why in printed.err) == (2, True), printed


def test_a_pattern_that_is_none_is_told(ottla_there: CommandLine) -> None:
    printed = ottla_there("transactions", "list", "--pattern", "(")
    assert (printed.code, "'(' is not a regular expression" in printed.err) == (1, True), printed


def test_a_transaction_is_described_with_its_partitions(ottla_there: CommandLine, scene: Scene) -> None:
    [row] = rows_of(ottla_there("transactions", "describe", scene.open_id, "-o", "json"))
    assert (row["state"], row["timeout_ms"]) == ("Ongoing", 60_000)
    assert isinstance(row["duration_ms"], int)
    assert isinstance(row["partitions"], list)
    offsets, written = sorted(row["partitions"])
    assert (offsets.startswith("__consumer_offsets-"), written) == (True, f"{scene.topic}-0")
    missing = ottla_there("transactions", "describe", "nobody", scene.open_id)
    assert (missing.code, scene.open_id in missing.out) == (3, True)
    assert "nobody: TRANSACTIONAL_ID_NOT_FOUND" in missing.err
    assert "`ottla transactions list` shows" in missing.err


def test_a_transaction_that_has_ended_has_neither_start_nor_duration(ottla_there: CommandLine, scene: Scene) -> None:
    def described() -> dict[str, object]:
        [row] = rows_of(ottla_there("transactions", "describe", scene.ended_id, "-o", "json"))
        return row

    row = eventually(described, lambda row: row["state"] == "CompleteCommit")
    assert (row["start_ms"], row["duration_ms"], row["partitions"]) == (None, None, [])


def test_producers_of_a_partition_show_who_holds_a_transaction_open(ottla_there: CommandLine, scene: Scene) -> None:
    rows = rows_of(ottla_there("transactions", "producers", f"{scene.topic}:0", "-o", "json"))
    assert sorted(row["transaction_start_offset"] or -1 for row in rows) == [-1, -1, 3]
    assert 0 in [row["transaction_start_offset"] for row in rows]
    assert rows_of(ottla_there("transactions", "producers", f"{scene.topic}:1", "-o", "json")) == []
    assert ottla_there("transactions", "producers", f"{scene.topic}:0", "--broker", "77").code == 5
    assert ottla_there("transactions", "producers", "nowhere").code == 3


def test_a_hanging_transaction_is_found_and_aborted(
    ottla_there: CommandLine, scene: Scene, client: sync.Client
) -> None:
    def hanging(*where: str) -> list[dict[str, object]]:
        found = rows_of(ottla_there("transactions", "find-hanging", *where, "-o", "json"))
        return [row for row in found if row["topic"] == scene.topic]

    [found] = hanging()
    assert (found["partition"], found["transactional_id"], found["transaction_start_offset"]) == (
        0,
        scene.hanging_id,
        0,
    )
    assert len(hanging(scene.topic)) == len(hanging(f"{scene.topic}:0")) == 1
    assert hanging(f"{scene.topic}:1") == []
    assert hanging("--max-transaction-timeout", "2h") == []
    abort = ("transactions", "abort", f"{scene.topic}:0", "--start-offset")
    assert ottla_there(*abort, "77").code == 3
    dry = ottla_there(*abort, "0")
    assert (dry.code, "add --execute" in dry.err, len(hanging())) == (0, True, 1)
    [row] = rows_of(ottla_there(*abort, "0", "--execute", "-o", "json"))
    assert (row["transactional_id"], row["done"]) == (scene.hanging_id, True)
    assert hanging() == []
    # The open one is behind it, and still holds back what follows.
    partition = TopicPartition(scene.topic, 0)
    assert client.fetch_partitions({partition: 0})[partition].last_stable_offset == 3


def test_nothing_is_looked_for_at_a_broker_that_is_not_there(ottla_there: CommandLine, scene: Scene) -> None:
    printed = ottla_there("transactions", "find-hanging", scene.topic, "--broker", "77")
    assert (printed.code, printed.out) == (5, "")
    assert "there is no broker 77; there are: " in printed.err


def test_a_transaction_that_does_not_hang_is_not_torn_in_two(
    ottla_there: CommandLine, scene: Scene, client: sync.Client
) -> None:
    abort = ("transactions", "abort", f"{scene.topic}:0", "--start-offset", "3")
    for consent in ([], ["--execute"]):
        refused = ottla_there(*abort, *consent)
        assert (refused.code, refused.out.split()[-1], open_count(client, scene.topic)) == (6, "no", 2)
        assert f"ottla transactions force-terminate {scene.open_id} --execute" in refused.err
    assert ottla_there(*abort, "--force").code == 0
    assert open_count(client, scene.topic) == 2
    assert ottla_there(*abort, "--force", "--execute").code == 0
    assert open_count(client, scene.topic) == 1


def test_a_producer_is_fenced_and_its_transaction_aborted(ottla_there: CommandLine, scene: Scene) -> None:
    def state() -> object:
        [row] = rows_of(ottla_there("transactions", "list", "--pattern", scene.open_id, "-o", "json"))
        return row["state"]

    terminate = ("transactions", "force-terminate", scene.open_id)
    dry = ottla_there(*terminate)
    assert (dry.code, "add --execute" in dry.err, state()) == (0, True, "Ongoing")
    assert ottla_there(*terminate, "nobody", "--execute").code == 3
    assert state() == "Ongoing"
    [row] = rows_of(ottla_there(*terminate, "--execute", "-o", "json"))
    assert (row["state"], row["done"]) == (state(), True)
    assert row["state"] in ("Empty", "CompleteAbort")


def test_waiting_readers_lead_to_the_producer_that_they_wait_for(
    ottla_there: CommandLine, client: sync.Client, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name()
    client.admin.create_topics([NewTopic(topic, 1, 1)])
    producer = client.producer(ProducerSettings(transactional_id=f"{topic}-dead"))
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"value", partition=0).result()
    client.admin.alter_group_offsets(topic, {TopicPartition(topic, 0): 0})

    def ends(*command: str) -> tuple[object, object]:
        [described] = rows_of(ottla_there(*command, topic, "-o", "json"))
        assert isinstance(described["partitions"], list)
        [row] = described["partitions"]
        return row["last_stable_offset"], row["end_offset" if "topics" in command else "log_end_offset"]

    assert ends("topics", "describe") == ends("groups", "describe") == (0, 1)
    [holder] = rows_of(ottla_there("transactions", "producers", topic, "-o", "json"))
    assert holder["transaction_start_offset"] == 0
    owner = str(holder["producer_id"])
    [listed] = rows_of(ottla_there("transactions", "list", "--producer-id", owner, "-o", "json"))
    assert ottla_there("transactions", "force-terminate", str(listed["transactional_id"]), "--execute").code == 0
    # The record, and the marker behind it.
    assert ends("topics", "describe") == ends("groups", "describe") == (2, 2)


def test_a_fence_that_ends_no_transaction_says_so(ottla_there: CommandLine, scene: Scene, client: sync.Client) -> None:
    printed = ottla_there("transactions", "force-terminate", scene.hanging_id, "--execute")
    assert (printed.code, open_count(client, scene.topic)) == (0, 2)
    assert f"{scene.hanging_id}: its coordinator has no transaction of it open" in printed.err
    assert "find-hanging" in printed.err


# Records in transactions.


def committed(ottla: CommandLine, topic: str, *how: str) -> list[str]:
    return sorted(ottla("consume", topic, "-e", *how).out.split())


def test_a_run_is_one_transaction(ottla: CommandLine, new_topic: Callable[..., str], tmp_path: Path) -> None:
    topic = new_topic()
    assert ottla("produce", topic, "--transactional-id", topic, "-l", lines(tmp_path, "a b c")).code == 0
    assert eventually(lambda: committed(ottla, topic, "--isolation", "read_committed"), len) == ["a", "b", "c"]
    printed = ottla("produce", topic, "--transactional-id", topic, "--jsonl", lines(tmp_path, "{} {bad"))
    assert (printed.code, "The transaction was aborted" in printed.err) == (1, True)
    assert committed(ottla, topic, "--read-committed") == ["a", "b", "c"]


def test_a_run_is_cut_into_transactions(ottla: CommandLine, new_topic: Callable[..., str], tmp_path: Path) -> None:
    topic = new_topic()
    cut = ("produce", topic, "--transactional-id", topic, "--transaction-records", "2", "-o", "jsonl")
    printed = ottla(*cut, "-l", lines(tmp_path, "a b c d e"))
    assert [json.loads(line)["offset"] for line in printed.out.splitlines()] == [0, 1, 3, 4, 6]
    assert eventually(lambda: committed(ottla, topic, "--read-committed"), lambda found: len(found) == 5)
    assert ottla("produce", topic, "--transaction-records", "2").code == 2
    assert ottla("produce", topic, "--transactional-id", topic, "--acks", "1").code == 2


def test_a_run_whose_transaction_was_ended_says_that_none_of_its_records_counts(
    ottla: CommandLine, new_topic: Callable[..., str], server: Server
) -> None:
    topic = new_topic()
    line = [sys.executable, "-m", "ottla", "-b", server.bootstrap, "produce", topic, "--transaction-records", "2"]
    line += ["--transactional-id", topic]
    with (
        sync.Client(server.bootstrap) as client,
        subprocess.Popen(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sender,
    ):
        try:
            assert sender.stdin is not None
            sender.stdin.write("a\nb\nc\n")
            sender.stdin.flush()
            eventually(lambda: committed(ottla, topic, "--read-committed"), lambda found: found == ["a", "b"])
            eventually(lambda: open_count(client, topic), lambda count: count == 1)
            # As the broker does it when a transaction lasts too long.
            client.admin.fence_producers([topic])
            _, told = sender.communicate("d\n", timeout=30)
        finally:
            sender.kill()
    assert sender.returncode == 6, told
    assert "record 4 was not written" in told
    assert "none of its records is there for readers of committed ones. Records committed before it: 2." in told
    assert "transaction.timeout.ms (60000 ms)" in told
    assert committed(ottla, topic, "--read-committed") == ["a", "b"]


def lines(directory: Path, words: str) -> str:
    path = directory / "lines.txt"
    path.write_text("".join(f"{word}\n" for word in words.split()))
    return str(path)


@pytest.mark.parametrize(
    "how",
    [("--transactional-id", "perf"), ("--transaction-duration-ms", "5"), ("--command-property", "transactional.id=p")],
)
def test_performance_is_measured_in_transactions(
    ottla: CommandLine, new_topic: Callable[..., str], server: Server, how: tuple[str, ...]
) -> None:
    topic = new_topic()
    load = ("--topic", topic, "--num-records", "500", "--throughput", "-1", "--payload-monotonic")
    printed = ottla("kafka-producer-perf-test", "--bootstrap-server", server.bootstrap, *load, *how)
    assert (printed.code, printed.out.startswith("500 records sent")) == (0, True), printed
    found = eventually(lambda: committed(ottla, topic, "--read-committed"), lambda found: len(found) >= 500)
    assert found == sorted(map(str, range(500)))


def test_a_performance_tool_refuses_what_lasts_no_time(ottla: CommandLine) -> None:
    load = ("--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1")
    printed = ottla("kafka-producer-perf-test", *load, "--transaction-duration-ms", "0")
    assert (printed.code, "should be greater than zero" in printed.err) == (1, True)


# Apache's tool.


class Twins:
    """Runs a line with both tools: exit code, output and errors must agree."""

    def __init__(self, java: JavaClient, ottla: CommandLine, bootstrap: str) -> None:
        self._java = java
        self._ottla = ottla
        self._bootstrap = bootstrap

    def __call__(self, *arguments: str) -> Printed:
        theirs = self._java.tool(TRANSACTIONS, "--bootstrap-server", self._bootstrap, *arguments)
        ours = self._ottla("kafka-transactions", "--bootstrap-server", self._bootstrap, *arguments)
        assert (ours.code, comparable(ours.out)) == (theirs.code, comparable(theirs.out)), (ours, theirs)
        return ours


def comparable(out: str) -> list[str]:
    """Lines in any order, as Java's hash tables have them, without what changes from one call to the next."""
    head, *lines = out.splitlines() or [""]
    changing = {at for at, name in enumerate(head.split("\t")) if name.strip() == "TransactionDurationMs"}
    rows = []
    for line in lines:
        cells = [cell for at, cell in enumerate(line.split("\t")) if at not in changing]
        rows.append(" ".join(",".join(sorted(cell.split(","))) for cell in cells))
    return [head, *sorted(rows)]


@pytest.fixture
def twins(java: JavaClient, ottla_there: CommandLine, unverified: Server) -> Twins:
    return Twins(java, ottla_there, unverified.bootstrap)


def test_kafka_transactions_shows_the_same(twins: Twins, scene: Scene, client: sync.Client) -> None:
    assert scene.open_id in twins("list").out
    pattern = ("--transactional-id-pattern", f"{scene.topic}.*")
    assert len(twins("list", *pattern).out.splitlines()) == 4
    twins("list", *pattern, "--duration-filter", "0")
    twins("list", *pattern, "--duration-filter", "9999999999999")
    assert "Ongoing" in twins("describe", "--transactional-id", scene.open_id).out
    assert "None" in twins("describe", "--transactional-id", scene.hanging_id).out
    ended = scene.ended_id
    eventually(
        lambda: client.admin.describe_transactions([ended])[ended].state, lambda state: state == "CompleteCommit"
    )
    # Start and duration, though it has ended.
    assert "None" not in twins("describe", "--transactional-id", ended).out
    where = ("--topic", scene.topic, "--partition", "0")
    node = client.admin.describe_cluster().brokers[0].node_id
    assert len(twins("describe-producers", *where).out.splitlines()) == 4
    twins("describe-producers", *where, "--broker-id", str(node))
    assert len(twins("find-hanging", "--topic", scene.topic).out.splitlines()) == 2
    twins("find-hanging", *where, "--broker-id", str(node))
    twins("find-hanging", "--broker-id", str(node))
    twins("find-hanging", "--broker-id", "77")
    twins("find-hanging", *where, "--max-transaction-timeout", "100")


def test_kafka_transactions_ends_what_hangs_and_what_is_open(twins: Twins, scene: Scene, client: sync.Client) -> None:
    abort = ("abort", "--topic", scene.topic, "--partition", "0", "--start-offset", "0")
    ours = twins._ottla("kafka-transactions", "--bootstrap-server", scene.server.bootstrap, *abort)
    assert ours == Printed(0, "", "")
    assert len(twins("find-hanging", "--topic", scene.topic).out.splitlines()) == 1
    # What begins nowhere cannot be aborted, by neither tool.
    assert twins(*abort).code == 1
    assert twins("forceTerminateTransaction", "--transactionalId", scene.open_id).out == ""
    partition = TopicPartition(scene.topic, 0)
    eventually(lambda: client.fetch_partitions({partition: 0})[partition].last_stable_offset, lambda end: end == 6)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "nonsense",
        "find-hanging",
        "find-hanging --partition 1 --broker-id 1",
        "find-hanging --topic nowhere",
        "describe",
        "describe --transactional-id nobody",
        "describe-producers --topic t --partition x",
        "abort --topic t --partition 0",
        "abort --topic t --partition 0 --producer-id 1",
        "abort --topic t --partition 0 --producer-id 1 --producer-epoch 0",
        "list --duration-filter x",
        "list --transactional-id-pattern (",
        "forceTerminateTransaction",
    ],
)
def test_kafka_transactions_fails_alike(twins: Twins, arguments: str) -> None:
    printed = twins(*arguments.split())
    assert (printed.code, printed.out, bool(printed.err)) == (1, "", True)


def test_kafka_transactions_tells_help_and_version_as_apaches_does(
    ottla: CommandLine, java: JavaClient, server: Server
) -> None:
    for arguments in (["--help"], ["--version"], ["--bootstrap-server", server.bootstrap, "list", "--help"]):
        ours, theirs = ottla("kafka-transactions", *arguments), java.tool(TRANSACTIONS, *arguments)
        assert (ours.code, bool(ours.out), bool(ours.err)) == (theirs.code, bool(theirs.out), bool(theirs.err))
