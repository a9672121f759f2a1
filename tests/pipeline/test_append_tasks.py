"""What the tasks and the ends of a write do at a broker, without Spark: each process has a copy of the writer."""

import pickle
from collections.abc import Callable, Iterator
from itertools import chain

import pyarrow as pa
import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Record
from harness.faulty_proxy import Fault, FaultyProxy
from harness.ports import free_port
from harness.servers import Server
from harness.waiting import eventually
from ottla.client import Codec, NewTopic, TopicPartition
from ottla.client.admin.features import FeatureUpdate, UpgradeType
from ottla.client.columns import columns_to_batches
from ottla.client.sync import Client
from ottla.pipeline.append.options import AppendOptions, append_options
from ottla.pipeline.append.rows import Appended, append_rows
from ottla.pipeline.append.target_topics import TargetTopics
from ottla.pipeline.append.transactional_writer import TransactionalBatchWriter, begin
from ottla.pipeline.errors import PipelineError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.record_batch import BatchHeader, iterate_headers

NOBODY = -1


def rows(*values: bytes, partition: int = 0) -> Iterator[pa.RecordBatch]:
    columns = {"value": pa.array(values, pa.binary()), "partition": pa.array([partition] * len(values), pa.int32())}
    return iter([pa.RecordBatch.from_pydict(columns)])


def written_with(server: Server, topic: str, **properties: str) -> AppendOptions:
    return written_at(server.bootstrap, topic, **properties)


def written_at(bootstrap: str, topic: str, **properties: str) -> AppendOptions:
    given = {f"kafka.{name.replace('_', '.')}": value for name, value in properties.items()}
    return append_options({"kafka.bootstrap.servers": bootstrap, "topic": topic} | given)


def headers(server: Server, topic: str) -> list[BatchHeader]:
    with Client(server.bootstrap) as client:
        found: list[BatchHeader] = []
        while True:
            fetched = client.fetch_batches(topic, 0, found[-1].next_offset if found else 0)
            found += (header for _, header in iterate_headers(fetched.batches))
            if not found or found[-1].next_offset >= fetched.high_watermark:
                return found


def in_another_process(writer: TransactionalBatchWriter) -> TransactionalBatchWriter:
    copy = pickle.loads(pickle.dumps(writer))
    assert isinstance(copy, TransactionalBatchWriter)
    return copy


def committed(reference: ConfluentKafka, topic: str, partition: int = 0) -> list[bytes | None]:
    """What readers of committed records see before a record that comes after everything else."""
    reference.produce(topic, [Record(b"end")], partition=partition)
    found: list[bytes | None] = []
    offset = 0
    while True:
        [one] = reference.read(topic, partition, offset, 1, isolation=COMMITTED)
        if one.record.value == b"end":
            return found
        found.append(one.record.value)
        offset = one.offset + 1


def test_the_tasks_of_a_process_are_one_idempotent_producer(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    for task in range(20):
        append_rows(rows(b"1", b"2", partition=task % 2), written_with(server, topic))
    found = headers(server, topic)
    [producer_id] = {header.producer_id for header in found}
    assert producer_id != NOBODY
    assert [header.base_sequence for header in found] == list(range(0, 20, 2))
    with Client(server.bootstrap) as client:
        partitions = [TopicPartition(topic, number) for number in range(2)]
        for described in client.admin.describe_producers(partitions).values():
            assert [producer.producer_id for producer in described.producers] == [producer_id]


def test_tasks_at_the_same_time_are_producers_of_their_own(server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    def while_another_one_writes() -> Iterator[pa.RecordBatch]:
        yield from rows(b"outer")
        append_rows(rows(b"inner"), written_with(server, topic))
        yield from rows(b"outer")

    append_rows(while_another_one_writes(), written_with(server, topic))
    inner, outer = headers(server, topic)
    assert inner.producer_id != outer.producer_id
    assert (inner.record_count, outer.record_count) == (1, 2)


def test_the_task_after_one_that_failed_is_another_producer(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()

    def rows_that_fail() -> Iterator[pa.RecordBatch]:
        yield from rows(b"large" * 1000)
        raise ZeroDivisionError

    append_rows(rows(b"before"), written_with(server, topic, batch_size="1000"))
    with pytest.raises(ZeroDivisionError):
        append_rows(rows_that_fail(), written_with(server, topic, batch_size="1000"))
    append_rows(rows(b"after"), written_with(server, topic, batch_size="1000"))
    first, *_, last = headers(server, topic)
    assert first.producer_id != last.producer_id
    assert last.base_sequence == 0
    found = committed(reference, topic)
    assert (found[0], found[-1]) == (b"before", b"after")


def made_again(server: Server, topic: str) -> None:
    """Delete a topic and create it, until its leader knows."""
    with Client(server.bootstrap) as client:
        client.admin.delete_topics([topic])
        eventually(lambda: topic not in {found.name for found in client.admin.list_topics()})
        client.admin.create_topics([NewTopic(topic, 1)])
        eventually(lambda: client.admin.describe_topics([topic])[topic].error is None)


def test_a_partition_that_has_forgotten_the_producer_takes_what_comes_next(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    append_rows(rows(b"1", b"2"), written_with(server, topic))
    made_again(server, topic)
    append_rows(rows(b"3"), written_with(server, topic))
    [header] = headers(server, topic)
    assert header.base_sequence == 2
    assert committed(reference, topic) == [b"3"]


def test_a_partition_that_has_lost_records_goes_on_with_another_producer(
    server: Server, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    options = written_with(server, topic, batch_size="1000")
    append_rows(rows(b"1", b"2", b"3"), options)
    [lost] = headers(server, topic)
    made_again(server, topic)
    columns = pa.record_batch({"value": pa.array([b"1"])})
    identity = {"producer_id": lost.producer_id, "producer_epoch": lost.producer_epoch}
    with Client(server.bootstrap) as client:
        client.produce_batches(topic, 0, columns_to_batches(columns, timestamp_ms=0, base_sequence=0, **identity))
    # Several batches, in several requests.
    later = [b"%d" % number * 400 for number in range(4, 13)]
    append_rows(chain(rows(*later[:5]), rows(*later[5:])), options)
    append_rows(rows(b"last"), options)
    kept, *others, last = headers(server, topic)
    [replacement] = {header.producer_id for header in others}
    assert kept.producer_id == lost.producer_id
    assert replacement not in (lost.producer_id, last.producer_id)
    assert committed(reference, topic) == [b"1", *later, b"last"]


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


def test_answers_that_get_lost_cost_no_rows_and_repeat_none_that_brokers_recognise(
    start_server: Callable[..., Server],
) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    server = start_server({"advertised.listeners": f"PLAINTEXT://{address}"})
    lost = {
        ApiKey.PRODUCE: lambda number: Fault.ANSWER_LOST if number in (1, 3, 5) else None,
        ApiKey.END_TXN: lambda number: Fault.ANSWER_LOST if number == 1 else None,
    }
    proxy = FaultyProxy(port, server.port, lost)
    proxy.start()
    try:
        append_rows(rows(b"a"), written_at(address, "idempotent"))
        append_rows(rows(b"b"), written_at(address, "loose", acks="1"))
        writer = begin(written_at(address, "whole", transactional_id="x"), "x")
        writer.commit([writer.write(rows(b"c"))])
        reference = ConfluentKafka(address)
        assert committed(reference, "idempotent") == [b"a"]
        assert committed(reference, "loose") == [b"b", b"b"]
        assert committed(reference, "whole") == [b"c"]
    finally:
        proxy.stop()
    assert proxy.done == {(ApiKey.PRODUCE, Fault.ANSWER_LOST): 3, (ApiKey.END_TXN, Fault.ANSWER_LOST): 1}
