"""Whole nodes under the simulator: a few runs of every kind of fault, and that a run can be repeated.

`make sim HOURS=n` runs many more. A seed that found something is kept here, with the sentence that it told. It tells
another story once the loads or the faults have changed; what it found has a unit test of its own.
"""

import os

import pytest

from ottla.testing.sim.simulation import simulate
from sim.hunting import assert_repeats

RUNS = int(os.environ.get("OTTLA_SIM_RUNS", "1"))


@pytest.mark.parametrize("seed", range(1001, 1001 + RUNS))
def test_nothing_is_lost_doubled_reordered_or_torn(seed: int) -> None:
    report = simulate(seed, 600)
    assert not report.anomalies, str(report)
    assert report.operation_count > 0


# The seed and what was wrong.
FOUND = {
    16: "an aborted record was visible: the second power cut took a transaction index that recovery had made",
    32: "a start ended with a traceback: damage below the recovery point, and no producer snapshot",
    40: "transactions waited for ever: a shard that could not be loaded on a full disk was never loaded again",
    42: "a batch was written twice: after a clean restart only the newest one of its producer was known",
    108: "half a batch of a full disk came back with a power cut and hid what had been synced after it",
}


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_once_is_not_found_again(seed: int) -> None:
    report = simulate(seed, 600)
    assert not report.anomalies, str(report)


@pytest.mark.parametrize("seed", [3, 32])
def test_a_run_repeats_from_its_seed_in_another_process(seed: int) -> None:
    assert_repeats(f"from ottla.testing.sim.simulation import simulate; print(simulate({seed}, 200))")
