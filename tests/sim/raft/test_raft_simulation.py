"""The quorum under loss, crashes, partitions and slow disks: safety after every event, progress once healed."""

import random
from dataclasses import replace

import pytest

from ottla.raft import ReplicaKey, RequestFailed
from sim.raft.raft_simulation import Disk, Faults, Simulation, run_chaos

SEEDS = range(120)


def swarm(seed: int) -> Simulation:
    """Each seed has its own mix: some faults off, some strong, so that rare combinations appear."""
    dice = random.Random(seed * 7919)

    def maybe(strength: float) -> float:
        return strength * dice.random() if dice.random() < 0.6 else 0.0

    faults = Faults(
        loss=maybe(0.3),
        repeat=maybe(0.2),
        max_delay_ms=dice.choice([2, 10, 60]),
        max_disk_ms=dice.choice([0, 5, 40]),
        crash=maybe(0.2),
        partition=maybe(0.5),
        resign=maybe(0.1),
        snapshot=maybe(0.3),
        false_refusal=maybe(0.1),
    )
    return Simulation(
        seed, voters=dice.choice([1, 2, 3, 3, 3, 4, 5]), observers=dice.choice([0, 0, 1, 2]), faults=faults
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_quorum_keeps_its_promises_under_faults(seed: int) -> None:
    run_chaos(swarm(seed), rounds=25)


def test_the_same_seed_gives_the_same_history() -> None:
    histories = []
    for _ in range(2):
        simulation = swarm(11)
        run_chaos(simulation, rounds=15)
        histories.append((simulation.event_count, simulation.now_ms, simulation.committed))
    assert histories[0] == histories[1]


def test_a_healthy_quorum_elects_one_leader_and_keeps_it() -> None:
    simulation = Simulation(1, voters=3, observers=1)
    simulation.run_for(5_000)
    assert len(simulation.leader_of_epoch) == 1
    simulation.propose()
    assert simulation.run_until(lambda: simulation.everyone_caught_up, 200)


def test_a_voter_that_wrongly_takes_the_leader_for_dead_disturbs_nobody() -> None:
    simulation = Simulation(4, voters=3)
    simulation.run_for(1_000)
    ((epoch, leader_id),) = simulation.leader_of_epoch.items()
    follower = next(node for node in simulation.nodes if node.key.id != leader_id)
    for _ in range(20):
        assert follower.raft is not None
        for correlation_id in range(2_000):
            simulation.step(follower, RequestFailed(leader_id, correlation_id, is_refused=True))
        simulation.run_for(500)
    assert simulation.leader_of_epoch == {epoch: leader_id}
    simulation.propose()
    assert simulation.run_until(lambda: simulation.everyone_caught_up, 500)


def test_a_dead_leader_is_replaced_long_before_its_silence_would_tell() -> None:
    simulation = Simulation(5, voters=3)
    simulation.run_for(1_000)
    ((_, leader_id),) = simulation.leader_of_epoch.items()
    simulation.settings = replace(simulation.settings, fetch_timeout_ms=1_000_000)
    for node in simulation.nodes:
        simulation.restart(node)
    simulation.run_until(lambda: simulation.everyone_caught_up and len(simulation.leader_of_epoch) == 2, 2_000)
    leader_id = simulation.leader_of_epoch[max(simulation.leader_of_epoch)]
    simulation.run_for(200)
    simulation.crash(simulation.nodes[leader_id])
    assert simulation.run_until(lambda: len(simulation.leader_of_epoch) == 3, 1_000)


def test_a_cut_off_voter_does_not_disturb_the_others_when_it_returns() -> None:
    simulation = Simulation(3, voters=3)
    simulation.run_for(1_000)
    ((epoch, leader_id),) = simulation.leader_of_epoch.items()
    lonely = next(node for node in simulation.nodes if node.key.id != leader_id)
    others = [node.key.id for node in simulation.nodes if node is not lonely]
    simulation.blocked = {(lonely.key.id, i) for i in others} | {(i, lonely.key.id) for i in others}
    simulation.run_for(3_000)
    simulation.blocked = set()
    simulation.run_for(1_000)
    assert simulation.leader_of_epoch == {epoch: leader_id}
    assert lonely.raft is not None
    assert lonely.raft.epoch == epoch


def test_a_leader_that_resigns_is_replaced_without_waiting_for_timeouts() -> None:
    simulation = Simulation(5, voters=3)
    simulation.run_for(1_000)
    first = max(simulation.leader_of_epoch)
    simulation.resign_leader()
    assert simulation.run_until(lambda: max(simulation.leader_of_epoch) > first, 90)


def test_a_leader_without_its_majority_steps_down() -> None:
    simulation = Simulation(9, voters=3)
    simulation.run_for(1_000)
    leader = simulation.nodes[simulation.leader_of_epoch[max(simulation.leader_of_epoch)]]
    others = [node.key.id for node in simulation.nodes if node is not leader]
    simulation.blocked = {(i, leader.key.id) for i in others}
    simulation.run_for(2_000)
    assert leader.raft is not None
    assert leader.raft.leader_id != leader.key.id


def test_a_wiped_voter_is_another_replica_and_cannot_vote_in_a_forgotten_epoch() -> None:
    simulation = Simulation(13, voters=3)
    simulation.run_for(1_000)
    leader_id = simulation.leader_of_epoch[max(simulation.leader_of_epoch)]
    wiped = next(node for node in simulation.nodes if node.key.id != leader_id)
    simulation.crash(wiped)
    wiped.key = ReplicaKey(wiped.key.id, b"a new directory.")
    wiped.disk = Disk()
    simulation.restart(wiped)
    simulation.propose()
    assert simulation.run_until(lambda: wiped.committed_offset == simulation.committed_end, 1_000)
    # With the old leader gone, one voter of three is left: the wiped one must not make it two.
    simulation.crash(simulation.nodes[leader_id])
    before = dict(simulation.leader_of_epoch)
    simulation.run_for(5_000)
    assert simulation.leader_of_epoch == before


@pytest.mark.parametrize("seed", range(10))
def test_nobody_is_caught_up_with_a_leader_that_does_not_know_what_is_committed(seed: int) -> None:
    simulation = Simulation(seed, voters=3, observers=1)
    simulation.run_for(1_000)
    for node in simulation.nodes:
        simulation.take_snapshot(node)
    for _ in range(5):
        simulation.propose()
        simulation.run_for(200)
    committed_end = simulation.committed_end
    # All of them: nobody remembers a watermark beyond its snapshot, and the next leader has yet to commit.
    for node in simulation.nodes:
        simulation.crash(node)
    for node in simulation.nodes:
        simulation.restart(node)

    def is_too_early() -> bool:
        rafts = [node.raft for node in simulation.nodes if node.raft is not None]
        return any(raft.is_caught_up and raft.high_watermark < committed_end for raft in rafts)

    assert not simulation.run_until(is_too_early, 2_000)
    assert all(node.raft is not None and node.raft.is_caught_up for node in simulation.nodes)
