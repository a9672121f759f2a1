import pytest

from ottla.cli.perf.latencies import Latencies


def test_percentiles_count_records() -> None:
    latencies = Latencies()
    latencies.add_all([float(ms) for ms in range(1, 1001)])
    assert latencies.percentiles_ms([0.5, 0.99, 0.999]) == [500, 990, 999]
    assert latencies.average_ms == pytest.approx(500.5)
    assert latencies.max_ms == 1000


def test_a_weight_stands_for_so_many_records() -> None:
    latencies = Latencies()
    latencies.add(1.0, 99)
    latencies.add(50.0)
    assert (latencies.count, latencies.percentiles_ms([0.5, 0.99, 0.999])) == (100, [1, 1, 50])


def test_two_counts_make_one() -> None:
    one, other = Latencies(), Latencies()
    one.add_all([1, 2])
    other.add_all([3])
    one.merge(other)
    assert (one.count, one.max_ms, one.percentiles_ms([1.0])) == (3, 3, [3])


def test_nothing_has_no_latency() -> None:
    assert set(Latencies().summary().values()) == {0.0}
    latencies = Latencies()
    latencies.add_all([])
    assert latencies.count == 0
