import pyarrow as pa
import pytest

from ottla.client.errors import KafkaError, RequestTimedOut
from ottla.client.metadata import TopicPartition
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.partition_writer import by_target, told
from ottla.protocol.errors import ErrorCode

TARGET = TopicPartition("t", 3)


def rows(topics: list[str], partitions: list[int]) -> pa.RecordBatch:
    columns = {"topic": topics, "partition": pa.array(partitions, pa.int32()), "value": range(len(topics))}
    return pa.RecordBatch.from_pydict(columns)


def split(batch: pa.RecordBatch, topic: str | None) -> dict[TopicPartition, list[int]]:
    return {target: part.column("value").to_pylist() for target, part in by_target(batch, topic)}


def test_rows_are_split_by_topic_and_partition_in_their_order() -> None:
    batch = rows(["b", "a", "b", "a", "b"], [1, 0, 0, 0, 1])
    expected = {TopicPartition("a", 0): [1, 3], TopicPartition("b", 0): [2], TopicPartition("b", 1): [0, 4]}
    assert split(batch, None) == expected


def test_one_topic_for_all_rows_wins_over_the_column() -> None:
    batch = rows(["b", "a", "b"], [1, 0, 1])
    assert split(batch, "t") == {TopicPartition("t", 0): [1], TopicPartition("t", 1): [0, 2]}


def test_rows_of_one_partition_stay_one_piece() -> None:
    [(target, part)] = by_target(rows(["a", "a"], [2, 2]), None)
    assert (target, part.num_rows) == (TopicPartition("a", 2), 2)


@pytest.mark.parametrize(
    ("error", "told_as"),
    [
        (KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH), "another driver has taken over"),
        (KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), "ottla.pipeline.partitioned"),
        (KafkaError(ErrorCode.MESSAGE_TOO_LARGE), "max.message.bytes"),
        (RequestTimedOut("nobody answers"), "writing to t-3 failed: nobody answers"),
    ],
)
def test_what_a_broker_refuses_is_told_with_the_place_and_the_remedy(error: Exception, told_as: str) -> None:
    with pytest.raises(PipelineError) as refusal, told(TARGET):
        raise error
    assert "writing to t-3" in str(refusal.value)
    assert told_as in str(refusal.value)


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), told(TARGET):
        raise ZeroDivisionError
