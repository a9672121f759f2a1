"""Logs are made and removed without waiting for a disk that hangs."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from harness.stubborn_file_system import StubbornFileSystem
from harness.waiting import eventually
from ottla.broker.disks import log_changes
from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.disks.directory_writer import DirectoryWriter
from ottla.broker.disks.log_changes import LogChanges
from ottla.broker.host import Machine
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

TOPIC_ID, OTHER_ID = b"t" * 16, b"u" * 16


class Disks:
    """Two directories; that which holds the first log made is the one that will hang."""

    def __init__(self, home: Path) -> None:
        self.systems = [StubbornFileSystem(home / name) for name in ("a", "b")]
        self.logs = LogManager([LogDirectory(system) for system in self.systems])
        failure = ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
        self.threads = {
            one: DirectoryThreads(one, DirectoryWriter(Machine(), "d", lambda _: failure), Machine())
            for one in self.logs.directories
        }
        self.changes = LogChanges(self.logs, self.threads, Machine())
        self.first = self.systems[0]

    async def make(self, indexes: range, topic_id: bytes = TOPIC_ID) -> dict[int, Log]:
        """What is there when the sound disks have done what they have to do: it may take longer than anybody waits."""
        for _ in range(2):
            await self.changes.open_or_create("t", topic_id, indexes, indexes, LogConfig(), waits_for_all=False)
            for system, threads in zip(self.systems, self.threads.values(), strict=True):
                if system.takes_names.is_set():
                    await threads.run_change(lambda: None)
        return await self.changes.open_or_create("t", topic_id, indexes, indexes, LogConfig(), waits_for_all=False)

    async def wake_up(self) -> None:
        """Returns when everything is done that was waiting."""
        self.first.wake_up()
        for threads in self.threads.values():
            await threads.run_change(lambda: None)

    def close(self) -> None:
        for system in self.systems:
            system.wake_up()
        for threads in self.threads.values():
            threads.stop()
        for directory in self.logs.directories:
            directory.take_offline()


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Disks], Coroutine[Any, Any, None]]], None]:
    monkeypatch.setattr(log_changes, "CHANGE_PATIENCE_S", 0.05)

    def run(scenario: Callable[[Disks], Coroutine[Any, Any, None]]) -> None:
        async def with_disks() -> None:
            disks = Disks(tmp_path)
            try:
                await scenario(disks)
            finally:
                await asyncio.to_thread(disks.close)

        asyncio.run(with_disks())

    return run


def test_a_log_on_a_disk_that_hangs_is_left_out_until_it_is_made_and_is_made_nowhere_else(run: Any) -> None:
    async def scenario(disks: Disks) -> None:
        disks.first.takes_names.clear()
        made = await disks.make(range(4))
        assert set(made) == {1, 3}
        # It is on its way: it is not begun again elsewhere.
        assert set(await disks.make(range(4))) == {1, 3}
        await disks.wake_up()
        made = await disks.make(range(4))
        assert len(made) == 4
        assert {log.directory.parent for log in made.values()} == {system.root for system in disks.systems}
        assert made[0].directory.parent == disks.first.root

    run(scenario)


def test_a_deleted_log_does_not_hold_up_others_and_its_name_waits_for_it(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla.broker.disks.directory_threads.HANGING_AFTER_S", 0.0)

    async def scenario(disks: Disks) -> None:
        old = await disks.make(range(2))
        await disks.wake_up()
        disks.first.takes_names.clear()
        await disks.changes.remove_topic("t", range(2))
        # The one on the sound disk is gone, and another topic may have its name there.
        assert set(await disks.make(range(2), OTHER_ID)) == {1}
        await disks.wake_up()
        new = await disks.make(range(2), OTHER_ID)
        assert len(new) == 2
        assert all(log.is_gone for log in old.values())
        assert not any(log.is_gone for log in new.values())
        assert disks.logs.topic_id_of("t", 0) == OTHER_ID

    run(scenario)


def test_a_topic_that_is_deleted_while_its_logs_are_made_leaves_none_behind(run: Any) -> None:
    async def scenario(disks: Disks) -> None:
        disks.first.takes_names.clear()
        await disks.make(range(2))
        await disks.changes.remove_topic("t", [1])
        await disks.wake_up()
        assert disks.logs.all() == []

    run(scenario)


def test_a_disk_that_keeps_others_waiting_gets_no_new_logs(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.broker.disks.directory_threads.HANGING_AFTER_S", 0.0)

    async def scenario(disks: Disks) -> None:
        disks.first.takes_names.clear()
        busy = disks.threads[disks.logs.directories[0]]
        job = busy.run_change(disks.first.takes_names.wait)
        await asyncio.to_thread(eventually, lambda: busy.is_slow)
        made = await disks.make(range(4))
        assert {log.directory.parent for log in made.values()} == {disks.systems[1].root}
        assert len(made) == 4
        assert not busy.is_hanging, "reads and appends do not wait for it"
        await disks.wake_up()
        await job

    run(scenario)
