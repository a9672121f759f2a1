from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from ottla.client.partitioner import partition_for_key
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.row_placement import RowPlacement


class Counts:
    """Topics as they are known, and as they are when they are asked for again."""

    def __init__(self, known: Mapping[str, int], fresh: Mapping[str, int] | None = None) -> None:
        self._known = known
        self._fresh = fresh or known

    def partition_count(self, topic: str, *, is_fresh: bool = False) -> int:
        return (self._fresh if is_fresh else self._known)[topic]


COLUMNS = {"key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32()}


def rows(**columns: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(values, COLUMNS[name]) for name, values in columns.items()})


def places(placement: RowPlacement, *batches: pa.RecordBatch) -> list[list[int]]:
    return [batch.column("partition").to_pylist() for batch in placement.placed(iter(batches))]


def test_keys_go_where_kafkas_clients_put_them() -> None:
    keys = [b"", b"a", b"some longer key", bytes(range(256))]
    [found] = places(RowPlacement(Counts({"t": 7}), "t", 0), rows(key=keys, value=keys))
    assert found == [partition_for_key(key, 7) for key in keys]


def test_a_number_wins_over_the_key_and_null_leaves_it_to_the_key() -> None:
    key = b"k"
    of_key = partition_for_key(key, 5)
    other = (of_key + 1) % 5
    [found] = places(RowPlacement(Counts({"t": 5}), "t", 0), rows(key=[key, key], partition=[other, None]))
    assert found == [other, of_key]


def test_rows_without_a_key_take_the_partitions_in_turn_from_batch_to_batch() -> None:
    placement = RowPlacement(Counts({"t": 3}), "t", 1)
    keyless = rows(key=[None, b"k", None], value=[b"1", b"2", b"3"])
    first, second = places(placement, keyless, rows(value=[b"4", b"5"]))
    assert [first[0], first[2], *second] == [1, 2, 0, 1]


def test_each_topic_has_turns_and_partitions_of_its_own() -> None:
    batch = rows(topic=["a", "b", "a", "b", "b"], value=[b""] * 5)
    [found] = places(RowPlacement(Counts({"a": 2, "b": 3}), None, 0), batch)
    assert found == [0, 0, 1, 1, 2]


def test_the_topic_that_is_given_wins_over_the_column() -> None:
    [found] = places(RowPlacement(Counts({"t": 1}), "t", 0), rows(topic=["else", None], value=[b"", b""]))
    assert found == [0, 0]


def test_batches_without_rows_are_left_out() -> None:
    assert places(RowPlacement(Counts({}), None, 0), rows(topic=[], value=[])) == []


def test_a_topic_is_asked_for_again_before_a_partition_is_refused() -> None:
    placement = RowPlacement(Counts({"t": 2}, fresh={"t": 4}), "t", 0)
    assert places(placement, rows(partition=[3], value=[b""])) == [[3]]


@pytest.mark.parametrize("partition", [-1, -7, 2, 2**31 - 1])
def test_a_partition_that_does_not_exist_is_refused(partition: int) -> None:
    with pytest.raises(PipelineError, match=f"partition {partition} of topic t, which has 2 "):
        places(RowPlacement(Counts({"t": 2}), "t", 0), rows(partition=[0, partition, None], value=[b""] * 3))


def test_a_row_without_a_topic_is_refused() -> None:
    with pytest.raises(PipelineError, match="a row has null in its column topic"):
        places(RowPlacement(Counts({"t": 2}), None, 0), rows(topic=["t", None], value=[b"", b""]))
