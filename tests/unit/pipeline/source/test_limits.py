from hypothesis import given
from hypothesis import strategies as st

from ottla.pipeline.source.limits import TriggerLimits, lag_of, limit_end, share_bytes, share_offsets, should_wait
from ottla.protocol.topic_partition import TopicPartition

T = [TopicPartition("t", n) for n in range(4)]

lags = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 20)), st.integers(1, 2**40), min_size=1
)


def test_a_limit_is_shared_in_proportion_and_nobody_gets_nothing() -> None:
    assert share_offsets({T[0]: 60, T[1]: 20, T[2]: 20}, 50) == {T[0]: 30, T[1]: 10, T[2]: 10}
    assert share_offsets({T[0]: 1_000_000, T[1]: 3}, 10) == {T[0]: 9, T[1]: 1}
    assert share_offsets({T[0]: 5}, 10) == {T[0]: 5}


@given(lags, st.integers(1, 2**41))
def test_shares_move_every_partition_and_hold_the_limit(lag: dict[TopicPartition, int], limit: int) -> None:
    found = share_offsets(lag, limit)
    assert found.keys() == lag.keys()
    assert all(1 <= found[partition] <= lag[partition] for partition in lag)
    # One offset more for each that would have got nothing.
    assert sum(found.values()) <= limit + len(lag)
    assert sum(found.values()) == sum(lag.values()) or sum(found.values()) > limit - len(lag)


@given(lags, st.integers(1, 2**50), st.floats(0.5, 100_000))
def test_shares_in_bytes_move_every_partition_and_hold_the_limit(
    lag: dict[TopicPartition, int], limit: int, size: float
) -> None:
    found = share_bytes(lag, limit, dict.fromkeys(lag, size))
    assert all(1 <= found[partition] <= lag[partition] for partition in lag)
    assert sum(found.values()) * size <= limit + (1 + size) * len(lag)


@given(lags, st.integers(1, 1000), st.integers(1, 10_000))
def test_batches_reach_the_end_and_never_pass_it(
    lag: dict[TopicPartition, int], max_offsets: int, max_bytes: int
) -> None:
    start = dict.fromkeys(lag, 7)
    end = {partition: 7 + min(size, 5000) for partition, size in lag.items()}
    limits = TriggerLimits(max_offsets=max_offsets, max_bytes=max_bytes)
    for _ in range(3):
        following = limit_end(start, end, limits, dict.fromkeys(lag, 3.5))
        assert following.keys() == end.keys()
        assert all(start[partition] <= following[partition] <= end[partition] for partition in end)
        assert all(following[partition] > start[partition] for partition in lag_of(start, end))
        start = following


def test_partitions_without_lag_stay_where_they_are() -> None:
    limits = TriggerLimits(max_offsets=1)
    assert limit_end({T[0]: 5, T[1]: 9}, {T[0]: 5, T[1]: 12}, limits, {}) == {T[0]: 5, T[1]: 10}
    assert lag_of({T[0]: 5, T[1]: 9, T[2]: 3}, {T[0]: 5, T[1]: 12}) == {T[1]: 3}


def test_the_smaller_of_two_limits_holds() -> None:
    lag = {T[0]: 0}, {T[0]: 100}
    assert limit_end(*lag, TriggerLimits(max_offsets=50, max_bytes=200), {T[0]: 10.0}) == {T[0]: 20}
    assert limit_end(*lag, TriggerLimits(max_offsets=5, max_bytes=200), {T[0]: 10.0}) == {T[0]: 5}


def test_a_small_batch_waits_until_it_is_large_or_late_enough() -> None:
    limits = TriggerLimits(min_offsets=10, max_delay_ms=1000)
    assert should_wait({T[0]: 4, T[1]: 5}, limits, waited_ms=999)
    assert not should_wait({T[0]: 5, T[1]: 5}, limits, waited_ms=0)
    assert not should_wait({T[0]: 1}, limits, waited_ms=1000)
    assert not should_wait({T[0]: 1}, TriggerLimits(), waited_ms=0)


def test_limits_are_there_or_not() -> None:
    assert not TriggerLimits(max_delay_ms=5).has_any
    assert TriggerLimits(min_offsets=1).has_any
    assert TriggerLimits(max_bytes=1).has_any
    assert TriggerLimits(max_offsets=1).has_any
