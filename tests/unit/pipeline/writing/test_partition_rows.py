import pyarrow as pa

from ottla.pipeline.writing.partition_rows import by_target
from ottla.protocol.topic_partition import TopicPartition


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
