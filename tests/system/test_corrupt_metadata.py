"""Damaged files of the metadata quorum, and meta.properties: the node says what is wrong, or knows what it knew.

The quorum of one node creates topics, with snapshots in between, and is stopped or killed. Then one file is damaged in
every way that `harness.damage` knows, and the quorum is started. No outcome is a traceback, and none is a topic that
was never created.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.damage import Damage, batch_damages, damages
from harness.simulated_quorum import LOCAL, ROOT, format_disk, make_quorum, new_topic, topic_names
from ottla.broker.node import START_FAILURES
from ottla.storage.errors import DamagedFile
from ottla.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ottla.testing.sim.disk import SimulatedDisk, Survival

TOPICS = [f"topic-{number}" for number in range(6)]
IDENTITY = MetaProperties("KJJipkx4QX6QANvVE5UjEQ", LOCAL.id, LOCAL.directory_id)


class Outcome(Enum):
    UNHARMED = "nothing that anybody could notice"
    CUT = "the metadata log is cut at the damage: what was decided later is unknown"
    REFUSED_START = "the node does not start and says which file is to blame"


UNHARMED, CUT, REFUSED_START = Outcome

OUTCOMES: dict[str, set[Outcome]] = {
    ".log": {UNHARMED, CUT, REFUSED_START},
    ".index": {UNHARMED},
    ".timeindex": {UNHARMED},
    ".snapshot": {UNHARMED},
    "leader-epoch-checkpoint": {UNHARMED},
    "partition.metadata": {UNHARMED, REFUSED_START},
    "quorum-state": {UNHARMED, REFUSED_START},
    # Read by the first start alone.
    "bootstrap.checkpoint": {UNHARMED, REFUSED_START},
    # A snapshot of the metadata; the first one names the voters.
    ".checkpoint": {UNHARMED, REFUSED_START},
}


class Written(NamedTuple):
    disk: SimulatedDisk
    topics: set[str]


def write_nothing() -> Written:
    disk = SimulatedDisk(ROOT)
    format_disk(disk)
    return Written(disk, set())


async def write(*, is_clean: bool) -> Written:
    disk, _ = write_nothing()
    quorum = make_quorum(disk)
    await quorum.start()
    for name in TOPICS:
        await quorum.submit(new_topic(name))
    await quorum.log.snapshotter.finish()
    left = disk.clone()
    await quorum.stop()
    found = (disk if is_clean else left).after_power_cut(Survival.EVERYTHING, random.Random(0))
    return Written(found, set(TOPICS))


WRITTEN = {
    "new": write_nothing(),
    "clean": asyncio.run(write(is_clean=True)),
    "killed": asyncio.run(write(is_clean=False)),
}


@contextmanager
def tracebacks() -> Iterator[list[str]]:
    """What is logged with a traceback meanwhile."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                found.append(f"{record.getMessage()}: {record.exc_info[1]!r}")

    handler = Handler()
    logging.getLogger().addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(handler)


async def outcome(written: Written, path: Path, damage: Damage) -> Outcome:
    disk = written.disk.clone()
    disk.put(path, damage.data)
    quorum = make_quorum(disk)
    with tracebacks() as traced:
        try:
            await quorum.start()
        except START_FAILURES as error:
            assert not traced, traced
            assert path.name in str(error) or str(disk.root) in str(error), f"which file? {error}"
            return Outcome.REFUSED_START
        topics = topic_names(quorum.image)
        await quorum.submit(new_topic("afterwards"))
        await quorum.stop()
    assert not traced, traced
    assert topics <= written.topics
    assert topics == set(TOPICS[: len(topics)]), "a topic is missing in the middle"
    return Outcome.UNHARMED if topics == written.topics else Outcome.CUT


def kind_of(path: Path) -> str:
    if path.name == "bootstrap.checkpoint":
        return path.name
    return next((kind for kind in OUTCOMES if path.name.endswith(kind)), path.name)


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("state", WRITTEN)
def test_damaged_metadata_has_a_declared_outcome(state: str, kind: str) -> None:
    written = WRITTEN[state]
    if not any(kind_of(path) == kind for path in written.disk.files()):
        assert state == "new"
        return
    wrong: list[str] = []
    seen: Counter[str] = Counter()

    async def try_all() -> None:
        for path, data in written.disk.files().items():
            if kind_of(path) != kind:
                continue
            for damage in (*damages(data), *(batch_damages(data) if kind == ".log" else ())):
                try:
                    found = await outcome(written, path, damage)
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                    wrong.append(f"{path}: {damage.name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
                    continue
                seen[found.name] += 1
                if found not in OUTCOMES[kind]:
                    wrong.append(f"{path}: {damage.name}: {found.name}")

    asyncio.run(try_all())
    print(state, kind, dict(seen))
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong[:40])


def test_every_file_of_the_quorum_is_in_the_matrix() -> None:
    for written in WRITTEN.values():
        assert {kind_of(path) for path in written.disk.files()} <= set(OUTCOMES)


def test_damaged_meta_properties_never_give_another_node_or_directory() -> None:
    disk = SimulatedDisk(ROOT)
    write_meta_properties(disk, ROOT, IDENTITY)
    ((path, data),) = disk.files().items()
    seen: Counter[str] = Counter()
    for damage in damages(data):
        found = disk.clone()
        found.put(path, damage.data)
        try:
            identity = read_meta_properties(found, ROOT)
        except DamagedFile as error:
            assert "meta.properties" in str(error)
            seen["refused"] += 1
            continue
        if damage.data is None:
            assert identity is None
            continue
        assert identity is not None
        # The node compares its own id, and the voter that the quorum knows has the directory's: a changed number is
        # refused there. The id of the cluster is nowhere else.
        seen["same" if identity == IDENTITY else "other"] += 1
    assert seen["refused"] > 100
