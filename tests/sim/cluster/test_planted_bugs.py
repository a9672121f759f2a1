"""Every planted bug is found within two cluster-hours; the simulator would be of no use otherwise.

`OTTLA_PLANTED_BUGS=all` tries every one of them, which takes a while; without it, two that are found at once. Others
are tried by their names, with commas between them.
"""

import asyncio
import os

import pytest

from ottla.testing.history import Anomaly, AnomalyKind
from ottla.testing.sim.cluster import ClusterOfThree
from ottla.testing.sim.simulation import Simulation
from sim.cluster.planted_bugs import NOT_SEEN_YET, PLANTED
from sim.hunting import hunt

RUN_S = 300.0
QUICK = ("fenced_replica_admitted", "new_controller_fences_all")
WANTED = os.environ.get("OTTLA_PLANTED_BUGS", "")
SEEN = tuple(name for name in PLANTED if name not in NOT_SEEN_YET)
CHOSEN = SEEN if WANTED == "all" else tuple(filter(None, WANTED.split(","))) or QUICK


class ImpatientSimulation(Simulation):
    """A run that ends as soon as the nodes are seen to break an invariant."""

    async def _run(self) -> None:
        assert isinstance(self._world, ClusterOfThree)
        seen = self._world._watch.anomalies
        running = asyncio.ensure_future(super()._run())
        while not (running.done() or seen):
            await asyncio.wait((running,), timeout=1.0)
        if running.done():
            await running
        else:
            self.report.anomalies += [Anomaly(AnomalyKind.BROKEN_INVARIANT, sentence) for sentence in seen]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CHOSEN)
def test_a_planted_bug_is_found_by_one_of_its_symptoms(name: str) -> None:
    bug = PLANTED[name]
    hunt(name, bug, lambda seed: ImpatientSimulation(seed, RUN_S, bug.world).run())
