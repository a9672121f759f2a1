"""Hunts for a planted bug: run after run, until one of its symptoms shows; and the proof that a run can be repeated."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ottla.testing.history import AnomalyKind
from ottla.testing.sim.simulation import Report, WorldFactory

HOURS_MAX = 2.0


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """How to plant a bug, where it is looked for, and what it shows as: one of these kinds has to be found."""

    plant: Callable[[], AbstractContextManager[None]]
    symptoms: frozenset[AnomalyKind]
    world: WorldFactory


def hunt(name: str, bug: PlantedBug, run: Callable[[int], Report]) -> None:
    """Fails unless a run with one of the seeds 1, 2, ... shows a symptom within two simulated hours."""
    logging.getLogger("ottla").setLevel(logging.CRITICAL)
    # What showed without being a symptom: another bug, or one of which more must be said.
    others: list[str] = []
    simulated_s = 0.0
    seed = 0
    with bug.plant():
        while simulated_s < HOURS_MAX * 3600:
            seed += 1
            report = run(seed)
            simulated_s += report.simulated_s
            for anomaly in report.anomalies:
                if anomaly.kind in bug.symptoms:
                    print(f"{name}: found after {simulated_s / 3600:.2f} h by seed {seed}: {str(anomaly)[:200]}")
                    return
            others += [f"seed {seed}: {str(anomaly)[:500]}" for anomaly in report.anomalies]
    expected = " or ".join(sorted(kind.value for kind in bug.symptoms))
    found = "\n  ".join(["others were:", *others[:20]]) if others else "nothing else was found either"
    pytest.fail(f"{name} did not show as {expected} in {simulated_s / 3600:.1f} simulated hours; {found}")


def assert_repeats(program: str) -> None:
    """Runs a program that prints a report twice, with other hashes: it must print the same."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert "trace" in runs[0]
