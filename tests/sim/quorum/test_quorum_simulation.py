"""Three whole controllers under faults; `OTTLA_SIM_RUNS=n` runs more of them."""

import os

import pytest

from sim.quorum.quorum_simulation import QuorumSimulation

RUNS = int(os.environ.get("OTTLA_SIM_RUNS", "6"))


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_quorum_of_whole_controllers_keeps_its_promises(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = QuorumSimulation(seed, is_static=seed % 2 == 0)
    simulation.watch(monkeypatch)
    simulation.run(120)
    assert len(simulation.leaders) > 1, "no leader was ever replaced"
    assert simulation.acknowledged


@pytest.mark.parametrize("seed", range(100, 100 + max(RUNS // 2, 1)))
def test_a_broker_without_a_vote_follows_whatever_happens_to_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = QuorumSimulation(seed, is_static=seed % 2 == 0, has_broker=True)
    simulation.watch(monkeypatch)
    simulation.run(120)
    assert simulation.acknowledged
    assert simulation.servers[4].start_count > 1, "nothing has happened to it"


def test_a_run_repeats_from_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[int, dict[int, int], list[str]]:
        with monkeypatch.context() as patch:
            simulation = QuorumSimulation(7, is_static=False)
            simulation.watch(patch)
            simulation.run(60)
        return simulation.loop.callback_count, simulation.leaders, sorted(simulation.acknowledged)

    assert run() == run()


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_leader_is_replaced_before_its_silence_would_tell(seed: int) -> None:
    """Kafka's voters notice it after the fetch timeout, which is 2 s."""
    assert QuorumSimulation(seed, is_static=False).time_to_replace_killed_leader_s() < 1.5
    patient = {"ottla.dead.peer.detection.enable": "false"}
    assert QuorumSimulation(seed, is_static=False, settings=patient).time_to_replace_killed_leader_s() > 1.5
