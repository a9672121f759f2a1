import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.pipeline.source.ranges import OffsetRange
from ottla.pipeline.source.splits import SPLIT_OFFSETS_MIN, Split, pack, pack_stream, pack_whole, split_count
from ottla.protocol.topic_partition import TopicPartition

sizes = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 9)),
    st.tuples(st.integers(0, 50), st.integers(0, 60)),
)


def ranges_of(given_sizes: dict[TopicPartition, tuple[int, int]]) -> list[OffsetRange]:
    return [OffsetRange(*tp, start, start + size) for tp, (start, size) in sorted(given_sizes.items())]


def offsets_of(ranges: list[OffsetRange]) -> list[tuple[TopicPartition, int]]:
    return [(one.topic_partition, offset) for one in ranges for offset in range(one.start, one.until)]


@pytest.mark.parametrize("packed", [pack, pack_whole])
@given(sizes, st.integers(1, 30))
def test_every_offset_is_in_exactly_one_split(
    packed: Callable[[list[OffsetRange], int], list[Split]],
    given_sizes: dict[TopicPartition, tuple[int, int]],
    count: int,
) -> None:
    ranges = ranges_of(given_sizes)
    splits = packed(ranges, count)
    found = [one for split in splits for one in split.ranges]
    assert sorted(offsets_of(found)) == sorted(offsets_of(ranges))
    assert len(splits) <= count
    for split in splits:
        assert split.ranges
        partitions = [one.topic_partition for one in split.ranges]
        assert len(set(partitions)) == len(partitions)


@given(sizes, st.integers(1, 30))
def test_splits_that_may_cut_differ_by_one_offset_at_most(
    given_sizes: dict[TopicPartition, tuple[int, int]], count: int
) -> None:
    lengths = [sum(one.offset_count for one in split.ranges) for split in pack(ranges_of(given_sizes), count)]
    assert max(lengths, default=0) - min(lengths, default=0) <= 1


@given(sizes, st.integers(1, 30))
def test_splits_of_whole_ranges_keep_each_partition_together(
    given_sizes: dict[TopicPartition, tuple[int, int]], count: int
) -> None:
    ranges = ranges_of(given_sizes)
    found = [one for split in pack_whole(ranges, count) for one in split.ranges]
    assert sorted(found) == [one for one in ranges if one.offset_count]


def test_a_small_batch_is_one_split_however_many_partitions_it_has() -> None:
    assert split_count(SPLIT_OFFSETS_MIN, core_count=8) == 1
    assert split_count(0, core_count=8) == 0


def test_a_large_batch_has_two_splits_for_each_core() -> None:
    assert split_count(SPLIT_OFFSETS_MIN * 1000, core_count=8) == 16
    assert split_count(SPLIT_OFFSETS_MIN * 3, core_count=8) == 3


@given(st.integers(1, 10**9), st.integers(1, 64), st.integers(1, 1000), st.integers(1, 10**6))
def test_what_was_asked_for_holds(total: int, cores: int, min_partitions: int, max_records: int) -> None:
    count = split_count(total, cores, min_partitions, max_records)
    assert count >= min(min_partitions, total)
    assert -(-total // count) <= max_records
    assert split_count(total, cores) <= 2 * cores


maybe = st.one_of(st.none(), st.integers(1, 80))


@given(sizes, st.integers(1, 4), maybe, maybe)
def test_a_stream_cuts_a_partition_only_if_the_options_leave_no_choice(
    given_sizes: dict[TopicPartition, tuple[int, int]], cores: int, min_partitions: int | None, max_records: int | None
) -> None:
    ranges = [one for one in ranges_of(given_sizes) if one.offset_count]
    splits = pack_stream(ranges, cores, min_partitions, max_records)
    found = [one for split in splits for one in split.ranges]
    assert sorted(offsets_of(found)) == offsets_of(ranges)
    longest = max((one.offset_count for one in ranges), default=0)
    if len(ranges) >= (min_partitions or 0) and longest <= (max_records or longest):
        assert sorted(found) == ranges
    assert len(splits) >= min(min_partitions or 0, len(offsets_of(ranges)))
    for split in splits:
        assert sum(one.offset_count for one in split.ranges) <= (max_records or len(offsets_of(ranges)))


def test_a_split_travels() -> None:
    split = pickle.loads(pickle.dumps(Split((OffsetRange("t", 0, 1, 2),))))
    assert split.ranges == (OffsetRange("t", 0, 1, 2),)
