"""Every planted bug is found within two simulated hours; the simulator would be of no use otherwise.

`OTTLA_PLANTED_BUGS=all` tries every one of them, which takes minutes; without it, two that are found at once.
"""

import os

import pytest

from ottla.testing.sim.simulation import simulate
from sim.hunting import hunt
from sim.nodes.planted_bugs import PLANTED

RUN_S = 600.0
QUICK = ("sequence_window_forgotten", "truncated_index_trusted")
CHOSEN = tuple(PLANTED) if os.environ.get("OTTLA_PLANTED_BUGS") == "all" else QUICK


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_planted_bug_is_found_by_one_of_its_symptoms(name: str) -> None:
    bug = PLANTED[name]
    hunt(name, bug, lambda seed: simulate(seed, RUN_S, bug.world))
