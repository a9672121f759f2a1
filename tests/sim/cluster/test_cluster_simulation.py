"""Clusters of three whole nodes under the simulator: that they lose nothing, and that a run can be repeated.

`make sim` runs many more; it has a slice of its own in `make test`.
"""

import os

import pytest

from ottla.testing.sim.cluster import ClusterOfThree, HarshCluster, QuietCluster
from ottla.testing.sim.simulation import simulate
from sim.hunting import assert_repeats

RUNS = int(os.environ.get("OTTLA_SIM_RUNS", "1"))


@pytest.mark.parametrize("seed", range(1001, 1001 + RUNS))
def test_a_cluster_loses_nothing_whichever_node_fails(seed: int) -> None:
    report = simulate(seed, 600, ClusterOfThree)
    assert not report.anomalies, str(report)
    assert report.operation_count > 0


def test_nobody_gives_up_a_node_to_which_nothing_happens() -> None:
    report = simulate(1, 600, QuietCluster)
    assert not report.anomalies, str(report)
    assert report.faults["controller killed"] > 0


# The seed and what was wrong.
FOUND = {
    (
        HarshCluster,
        5,
    ): "brokers put all their logs aside: a new leader of the quorum did not know yet what was committed",
    (ClusterOfThree, 111): "a leader that lost the end of its log in a power cut began to lead again in the same epoch",
}


@pytest.mark.parametrize(("world", "seed"), FOUND)
def test_what_was_found_once_is_not_found_again(world: type[ClusterOfThree], seed: int) -> None:
    report = simulate(seed, 300, world)
    assert not report.anomalies, str(report)


def test_a_run_repeats_from_its_seed_in_another_process() -> None:
    program = (
        "from ottla.testing.sim.cluster import ClusterOfThree; from ottla.testing.sim.simulation import simulate; "
        "print(simulate(3, 120, ClusterOfThree))"
    )
    assert_repeats(program)
