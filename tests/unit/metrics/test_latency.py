import math

from hypothesis import given
from hypothesis import strategies as st

from ottla.metrics.latency import Latency, cumulative, merged, quantile_us


@given(st.lists(st.integers(0, 2**40), min_size=1), st.sampled_from([0.5, 0.95, 0.999, 1.0]))
def test_a_quantile_is_at_most_a_quarter_too_large(observed: list[int], share: float) -> None:
    latency = Latency()
    for us in observed:
        latency.observe(us)
    exact = sorted(observed)[math.ceil(share * len(observed)) - 1]
    assert exact < quantile_us(latency.counts, share) <= max(exact * 1.25, exact + 1)


@given(st.lists(st.integers(0, 2**30)))
def test_the_shown_buckets_count_what_is_shorter(observed: list[int]) -> None:
    latency = Latency()
    for us in observed:
        latency.observe(us)
    rows = cumulative(latency.counts)
    assert [end for end, _ in rows] == [4**power / 1_000_000 for power in range(3, 14)]
    assert [count for _, count in rows] == [sum(us < 4**power for us in observed) for power in range(3, 14)]
    assert latency.sum_us == sum(observed)


def test_nothing_observed_has_no_quantile() -> None:
    assert math.isnan(quantile_us(Latency().counts, 0.5))


def test_recent_forgets_what_is_longer_ago_than_the_window() -> None:
    latency = Latency()
    latency.observe(1000)
    assert sum(latency.recent(0)) == 1
    latency.observe(5)
    assert sum(latency.recent(30)) == 2
    assert sum(latency.recent(60)) == 2
    latency.observe(7)
    assert sum(latency.recent(90)) == 1
    # What came since anybody looked counts as recent.
    latency.observe(9)
    assert sum(latency.recent(1000)) == 1
    assert sum(latency.recent(1060)) == 0
    assert sum(latency.counts) == 4


def test_asking_often_does_not_shorten_the_window() -> None:
    latency = Latency()
    for second in range(300):
        latency.observe(1)
        assert sum(latency.recent(second)) >= min(second + 1, 60)
    assert sum(latency.recent(300)) <= 100


def test_histograms_add_up() -> None:
    assert merged([1, 0, 2], [0, 5, 1]) == [1, 5, 3]
