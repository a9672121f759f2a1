import pytest

from ottla.pipeline.sink.small_batches import SMALL_BYTES, SMALL_OFFSETS, SmallBatches
from ottla.pipeline.writing.partition_writer import Written
from ottla.protocol.topic_partition import TopicPartition

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
TARGET = TopicPartition("out", 0)


def after(ends: dict[TopicPartition, int], *written: Written, does_little: bool = True) -> SmallBatches:
    batches = SmallBatches(does_little=does_little)
    batches.note(ends, written)
    return batches


def test_a_batch_is_small_by_its_offsets() -> None:
    batches = after({FIRST: 100, SECOND: 50})
    assert batches.is_small({FIRST: 100 + SMALL_OFFSETS, SECOND: 50})
    assert not batches.is_small({FIRST: 100 + SMALL_OFFSETS, SECOND: 51})


@pytest.mark.parametrize("offsets", [{}, {FIRST: 101, SECOND: 1}, {FIRST: 99}])
def test_what_is_not_known_is_not_small(offsets: dict[TopicPartition, int]) -> None:
    assert not after({FIRST: 100}).is_small(offsets)
    assert not SmallBatches(does_little=True).is_small({FIRST: 1})


def test_a_query_that_does_much_has_no_small_batches() -> None:
    assert not after({FIRST: 100}, does_little=False).is_small({FIRST: 101})


def test_few_large_records_are_not_small() -> None:
    batches = after({FIRST: 100}, Written(TARGET, 10, 10, SMALL_BYTES))
    assert batches.is_small({FIRST: 110})
    assert not batches.is_small({FIRST: 111})
    # Half of what the next batch reads is written: what counts is what an offset came to.
    batches.note({FIRST: 120}, [Written(TARGET, 10, 20, SMALL_BYTES)])
    assert batches.is_small({FIRST: 140})
