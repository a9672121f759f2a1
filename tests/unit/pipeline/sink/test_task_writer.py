import pickle

import pyarrow as pa
import pytest

from ottla.client import KafkaError, TopicPartition
from ottla.client.admin.producers import ActiveProducer, PartitionProducers
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.sink.options import SinkOptions
from ottla.pipeline.sink.task_writer import Transaction, WriteTask, by_target, check_untouched
from ottla.protocol.errors import ErrorCode

TARGET = TopicPartition("t", 0)
OWN = ProducerIdentity(7, 3)


def rows(partitions: list[int], topics: list[str] | None = None) -> pa.RecordBatch:
    columns = {
        "value": pa.array([b"%d" % n for n in range(len(partitions))]),
        "partition": pa.array(partitions, pa.int32()),
    }
    return pa.RecordBatch.from_pydict(columns | ({} if topics is None else {"topic": pa.array(topics)}))


def placed(batch: pa.RecordBatch, topic: str | None) -> dict[TopicPartition, list[bytes]]:
    return {target: part.column("value").to_pylist() for target, part in by_target(batch, topic)}


def test_rows_go_to_their_partitions_in_their_order() -> None:
    found = placed(rows([1, 0, 1, 2, 0]), "t")
    assert found == {
        TopicPartition("t", 0): [b"1", b"4"],
        TopicPartition("t", 1): [b"0", b"2"],
        TopicPartition("t", 2): [b"3"],
    }


def test_rows_go_to_the_topics_that_they_name() -> None:
    found = placed(rows([0, 0, 1, 0], ["a", "b", "a", "a"]), None)
    assert found == {
        TopicPartition("a", 0): [b"0", b"3"],
        TopicPartition("a", 1): [b"2"],
        TopicPartition("b", 0): [b"1"],
    }


def test_rows_of_one_partition_are_not_touched() -> None:
    batch = rows([4, 4])
    [(target, part)] = by_target(batch, "t")
    assert (target, part) == (TopicPartition("t", 4), batch)
    assert part is batch


def producers(*found: ActiveProducer) -> PartitionProducers:
    return PartitionProducers(found)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (producers(), 0),
        (producers(ActiveProducer(8, 3, 100, 0, -1, 5)), 0),
        (producers(ActiveProducer(7, 2, 100, 0, -1, -1)), 0),
        (producers(ActiveProducer(7, 3, -1, 0, 4, -1)), 0),
        (producers(ActiveProducer(7, 3, 99, 0, 4, -1)), 100),
        (producers(ActiveProducer(7, 3, 2**31 - 1, 0, 4, -1)), 0),
    ],
    ids=["nobody", "another", "earlier epoch", "after a marker", "older protocol", "sequences that wrap"],
)
def test_a_partition_as_the_driver_knows_it_may_be_written_to(found: PartitionProducers, expected: int) -> None:
    check_untouched(TARGET, found, OWN, expected)


@pytest.mark.parametrize("expected", [0, 100])
def test_a_partition_that_another_attempt_has_written_to_is_refused(expected: int) -> None:
    with pytest.raises(PipelineError, match="another attempt of this task has written to t-0"):
        check_untouched(TARGET, producers(ActiveProducer(7, 3, 9, 0, -1, 5)), OWN, expected)


def test_a_partition_that_cannot_be_asked_is_an_error() -> None:
    with pytest.raises(KafkaError):
        check_untouched(TARGET, PartitionProducers(error=KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)), OWN, 0)


def test_a_task_travels_to_executors() -> None:
    options = SinkOptions(ClusterOptions("a:1"))
    task = WriteTask(Transaction(options, "id", OWN, sequences={TARGET: 5}, topic="t"))
    assert isinstance(pickle.loads(pickle.dumps(task)), WriteTask)
