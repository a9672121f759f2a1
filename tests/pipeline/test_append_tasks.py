"""What the tasks and the ends of a write do at a broker, without Spark: each process has a copy of the writer."""

import pickle
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Record
from harness.servers import Server
from harness.waiting import eventually
from ottla.client import Codec
from ottla.client.admin.features import FeatureUpdate, UpgradeType
from ottla.client.sync import Client
from ottla.pipeline.append.options import AppendOptions, append_options
from ottla.pipeline.append.rows import Appended, append_rows
from ottla.pipeline.append.target_topics import TargetTopics
from ottla.pipeline.append.transactional_writer import TransactionalBatchWriter, begin
from ottla.pipeline.errors import PipelineError
from ottla.protocol.record_batch import BatchHeader, iterate_headers

NOBODY = -1


def rows(*values: bytes, partition: int = 0) -> Iterator[pa.RecordBatch]:
    columns = {"value": pa.array(values, pa.binary()), "partition": pa.array([partition] * len(values), pa.int32())}
    return iter([pa.RecordBatch.from_pydict(columns)])


def written_with(server: Server, topic: str, **properties: str) -> AppendOptions:
    given = {f"kafka.{name.replace('_', '.')}": value for name, value in properties.items()}
    return append_options({"kafka.bootstrap.servers": server.bootstrap, "topic": topic} | given)


def headers(server: Server, topic: str) -> list[BatchHeader]:
    with Client(server.bootstrap) as client:
        return [header for _, header in iterate_headers(client.fetch_batches(topic, 0, 0).batches)]


def in_another_process(writer: TransactionalBatchWriter) -> TransactionalBatchWriter:
    copy = pickle.loads(pickle.dumps(writer))
    assert isinstance(copy, TransactionalBatchWriter)
    return copy


def committed(reference: ConfluentKafka, topic: str, partition: int = 0) -> list[bytes | None]:
    """What readers of committed records see before a record that comes after everything else."""
    reference.produce(topic, [Record(b"end")], partition=partition)
    found: list[bytes | None] = []
    while not found or found[-1] != b"end":
        [one] = reference.read(topic, partition, 0 if not found else last.offset + 1, 1, isolation=COMMITTED)
        last = one
        found.append(one.record.value)
    return found[:-1]


def test_each_task_is_an_idempotent_producer_of_its_own(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    for _ in range(2):
        append_rows(rows(b"1", b"2"), written_with(server, topic))
    first, second = headers(server, topic)
    assert first.producer_id != NOBODY != second.producer_id
    assert first.producer_id != second.producer_id
    assert (first.base_sequence, second.base_sequence, second.record_count) == (0, 0, 2)


@pytest.mark.parametrize("properties", [{"acks": "1"}, {"acks": "0"}, {"enable_idempotence": "false"}])
def test_a_task_without_idempotence_writes_as_nobody(
    server: Server, new_topic: Callable[..., str], properties: dict[str, str]
) -> None:
    topic = new_topic()
    append_rows(rows(b"1", b"2"), written_with(server, topic, **properties))
    [header] = eventually(lambda: headers(server, topic))
    assert (header.producer_id, header.base_sequence, header.record_count) == (NOBODY, -1, 2)


def test_batches_have_the_compression_and_the_size_of_the_properties(
    server: Server, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    properties = {"compression_type": "zstd", "batch_size": "4000"}
    append_rows(rows(*(b"%03d" % n * 400 for n in range(20))), written_with(server, topic, **properties))
    found = headers(server, topic)
    assert {header.codec for header in found} == {Codec.ZSTD}
    assert [header.base_sequence for header in found] == [header.base_offset for header in found]
    assert max(header.record_count for header in found) == 3


def test_a_task_without_rows_writes_nothing(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    assert append_rows(rows(), written_with(server, topic)) == Appended(())
    assert headers(server, topic) == []


def test_a_topic_appears_where_brokers_may_create_it(server: Server, fresh_name: Callable[[], str]) -> None:
    topic = fresh_name()
    with Client(server.bootstrap) as client:
        assert TargetTopics(client, written_with(server, topic)).partition_count(topic) == 4


def test_a_topic_that_nobody_may_create_is_named_with_the_remedy(start_server: Callable[..., Server]) -> None:
    server = start_server({"auto.create.topics.enable": "false"})
    options = written_with(server, "missing")
    with (
        Client(server.bootstrap) as client,
        pytest.raises(PipelineError, match=r"topic missing does not exist .*topics create missing"),
    ):
        TargetTopics(client, options).partition_count("missing")


def test_a_topic_that_cannot_exist_is_refused_at_once(server: Server) -> None:
    with Client(server.bootstrap) as client, pytest.raises(PipelineError, match="topic a/b cannot be written to"):
        TargetTopics(client, written_with(server, "a/b")).partition_count("a/b")


def test_nothing_is_visible_before_the_commit_and_all_of_it_after(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic = new_topic(2)
    name = fresh_name()
    options = written_with(server, topic, transactional_id=name)
    writer = begin(options, name)
    messages = [
        in_another_process(writer).write(rows(b"a", b"b", partition=0)),
        in_another_process(writer).write(rows(b"c", partition=1)),
    ]
    with Client(server.bootstrap) as client:
        found = client.admin.describe_transactions([name])[name]
    assert found.state == "Ongoing"
    assert {str(partition) for partition in found.partitions} == {f"{topic}-0", f"{topic}-1"}
    in_another_process(writer).commit([*messages])
    assert committed(reference, topic, 0) == [b"a", b"b"]
    assert committed(reference, topic, 1) == [b"c"]


def test_an_abort_leaves_nothing_and_the_id_goes_on(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, name = new_topic(2), fresh_name()
    options = written_with(server, topic, transactional_id=name)
    writer = begin(options, name)
    message = writer.write(rows(b"lost"))
    in_another_process(writer).abort([message, None])
    with pytest.raises(PipelineError, match="was refused: another driver has taken over"):
        in_another_process(writer).write(rows(b"late", partition=1))
    again = begin(options, name)
    again.commit([again.write(rows(b"kept"))])
    assert committed(reference, topic) == [b"kept"]


def test_a_writer_that_comes_later_fences_the_one_before(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, name = new_topic(), fresh_name()
    options = written_with(server, topic, transactional_id=name)
    first = begin(options, name)
    message = first.write(rows(b"zombie"))
    second = begin(options, name)
    with pytest.raises(PipelineError, match="was not committed"):
        in_another_process(first).commit([message])
    second.commit([second.write(rows(b"kept"))])
    assert committed(reference, topic) == [b"kept"]


def test_two_tasks_on_one_partition_are_refused(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, name = new_topic(), fresh_name()
    writer = begin(written_with(server, topic, transactional_id=name), name)
    message = writer.write(rows(b"first"))
    with pytest.raises(PipelineError, match=r"has written to .*ottla\.pipeline\.partitioned"):
        in_another_process(writer).write(rows(b"second"))
    with pytest.raises(PipelineError, match=r"two tasks wrote to .*ottla\.pipeline\.partitioned"):
        in_another_process(writer).commit([message, message])
    in_another_process(writer).abort([message, message])
    assert committed(reference, topic) == []


def test_a_transaction_without_rows_ends_without_an_error(
    server: Server, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, name = new_topic(), fresh_name()
    options = written_with(server, topic, transactional_id=name)
    for _ in range(2):
        writer = begin(options, name)
        in_another_process(writer).commit([Appended(()), writer.write(rows())])


def transaction_version(server: Server) -> int:
    # A connection knows what was in force when it began.
    with Client(server.bootstrap) as client:
        return {found.name: found.finalized for found in client.admin.describe_features()}["transaction.version"]


def test_brokers_of_the_older_protocol_are_told_of_the_partitions(start_server: Callable[..., Server]) -> None:
    server = start_server()
    reference = ConfluentKafka(server.bootstrap)
    reference.create_topic("old", 2, {})
    with Client(server.bootstrap) as client:
        lower = {"transaction.version": FeatureUpdate(1, UpgradeType.SAFE_DOWNGRADE)}
        assert client.admin.update_features(lower) == {"transaction.version": None}
    eventually(lambda: transaction_version(server), lambda found: found == 1)
    options = written_with(server, "old", transactional_id="x")
    for attempt in (b"first", b"second"):
        writer = begin(options, "x")
        messages = [in_another_process(writer).write(rows(attempt, partition=number)) for number in range(2)]
        in_another_process(writer).commit([*messages])
    lost = begin(options, "x")
    in_another_process(lost).abort([lost.write(rows(b"lost")), None])
    empty = begin(options, "x")
    empty.commit([empty.write(rows())])
    assert committed(reference, "old", 0) == [b"first", b"second"]
    assert committed(reference, "old", 1) == [b"first", b"second"]
