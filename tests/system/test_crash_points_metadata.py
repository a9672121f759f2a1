"""The power fails after every change that the metadata quorum makes to its disk: what was answered is there.

Topics are created one after the other, while snapshots are taken and the log before them is dropped.
"""

import asyncio

from harness.crash_points import Recorder, crash_states
from harness.simulated_quorum import ROOT, format_disk, make_quorum, new_topic, running_quorum, topic_names
from ottla.testing.sim.disk import PowerCut, SimulatedDisk

TOPICS = [f"topic-{number}" for number in range(14)]


async def tell_story(recorder: Recorder[frozenset[str]]) -> None:
    (disk,) = recorder.disks
    async with running_quorum(disk) as quorum:
        for name in TOPICS:
            await quorum.submit(new_topic(name))
            recorder.promise |= {name}


async def check(disk: SimulatedDisk, promised: frozenset[str]) -> None:
    async with running_quorum(disk) as quorum:
        found = topic_names(quorum.image)
        assert promised <= found, f"lost: {sorted(promised - found)}"
        assert found == set(TOPICS[: len(found)]), "topics appear in the order of their creation"
        await quorum.submit(new_topic("afterwards"))
    async with running_quorum(disk) as quorum:
        assert topic_names(quorum.image) == found | {"afterwards"}


def open_once(disks: tuple[SimulatedDisk, ...]) -> None:
    """A start that the power cut may end at any point; whoever is told of it hears it as the reason."""

    async def open_it() -> None:
        try:
            quorum = make_quorum(disks[0])
            await quorum.start()
            await quorum.stop()
        except PowerCut:
            pass

    asyncio.run(open_it())


def test_what_was_answered_is_in_the_metadata_after_a_power_cut_at_any_point() -> None:
    recorder = Recorder([ROOT], frozenset[str]())
    format_disk(recorder.disks[0])
    recorder.moments.clear()
    asyncio.run(tell_story(recorder))
    assert any("rename" in moment.change and ".checkpoint.part" in moment.change for moment in recorder.moments)
    assert any("remove" in moment.change and ".log" in moment.change for moment in recorder.moments)
    states = list(crash_states(recorder.moments, open_once))
    wrong: list[str] = []

    async def check_all() -> None:
        for state in states:
            try:
                await check(state.disks[0], state.promise)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                wrong.append(f"{state.name}: {type(error).__name__}: {str(error).splitlines()[:1]}")

    asyncio.run(check_all())
    print(len(recorder.moments), "moments,", len(states), "states")
    assert not wrong, f"{len(wrong)} of {len(states)} states:\n" + "\n".join(wrong[:40])
