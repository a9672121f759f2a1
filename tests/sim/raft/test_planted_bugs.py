"""Every bug that is planted into the quorum is found; the simulation would be of no use otherwise."""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.raft import OffsetAndEpoch, RequestReceived
from ottla.raft.messages import VoteRequest
from sim.raft import planted_bugs, test_raft_simulation
from sim.raft.raft_simulation import Simulation, run_chaos
from sim.raft.test_raft_simulation import swarm

RUNS_MAX = 120
BREAKS_A_PROMISE = (
    planted_bugs.two_votes_in_an_epoch,
    planted_bugs.vote_for_an_older_log,
    planted_bugs.observer_counted_in_the_majority,
    planted_bugs.truncation_below_the_watermark,
)


@pytest.mark.parametrize("plant", BREAKS_A_PROMISE, ids=lambda plant: plant.__name__)
def test_a_bug_that_breaks_a_promise_is_found_by_the_oracles(plant: Callable[[], Any]) -> None:
    with plant():
        for seed in range(RUNS_MAX):
            try:
                run_chaos(swarm(seed), rounds=25)
            except AssertionError as found:
                print(f"{plant.__name__}: found by seed {seed}: {found}")
                return
    pytest.fail(f"{plant.__name__} did not show in {RUNS_MAX} runs")


def test_a_voter_that_restarts_remembers_for_whom_it_voted() -> None:
    simulation = Simulation(1, voters=3)
    voter, one, other = simulation.nodes
    for candidate in (one, other):
        request = VoteRequest(7, candidate.key, voter.key, OffsetAndEpoch(100, 6), pre_vote=False)
        simulation.step(voter, RequestReceived(request, (candidate.key.id, 0)))
        simulation.run_for(20)
        simulation.crash(voter)
        simulation.restart(voter)
    assert voter.disk.election.voted == one.key


NEEDS_A_SCENARIO = (
    (planted_bugs.vote_forgotten_at_restart, test_a_voter_that_restarts_remembers_for_whom_it_voted),
    (
        planted_bugs.pre_vote_granted_against_a_live_leader,
        test_raft_simulation.test_a_voter_that_wrongly_takes_the_leader_for_dead_disturbs_nobody,
    ),
    (planted_bugs.no_check_quorum, test_raft_simulation.test_a_leader_without_its_majority_steps_down),
)


@pytest.mark.parametrize(("plant", "scenario"), NEEDS_A_SCENARIO, ids=lambda part: part.__name__)
def test_a_bug_that_needs_its_moment_is_found_by_a_scenario(
    plant: Callable[[], Any], scenario: Callable[[], None]
) -> None:
    scenario()
    with plant(), pytest.raises(AssertionError):
        scenario()
