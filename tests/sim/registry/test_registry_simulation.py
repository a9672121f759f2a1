"""Whole instances of a registry under the simulator: that they keep their word, and that a run can be repeated."""

import os

import pytest

from sim.registry.registry_simulation import RegistrySimulation

RUNS = int(os.environ.get("OTTLA_SIM_RUNS", "1"))


@pytest.mark.parametrize("seed", range(1001, 1001 + RUNS))
def test_instances_keep_their_word_whatever_fails(seed: int) -> None:
    report = RegistrySimulation(seed, 60).run()
    assert not report.anomalies, str(report)
    assert report.registered > 0


def test_a_run_repeats_from_its_seed() -> None:
    runs = {str(RegistrySimulation(7, 10).run()) for _ in range(2)}
    assert len(runs) == 1, runs
