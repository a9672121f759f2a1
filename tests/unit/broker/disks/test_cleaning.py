import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from harness.waiting import eventually
from harness.watched_tasks import WatchedTasks
from ottla.broker.disks.cleaning import CLEANERS_MAX, CleanerSettings, Cleaning
from ottla.broker.host import Machine
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.protocol.batch_builder import BatchBuilder
from ottla.storage.cleaning.inline_worker import InlineWorker
from ottla.storage.cleaning.job import CleaningWorker
from ottla.storage.cleaning.worker_process import WorkerProcess
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

HOST = Machine()


class InlineHost(Machine):
    """Compacts in its own process."""

    def cleaning_worker(self, bytes_per_s: Callable[[], float]) -> CleaningWorker:
        return InlineWorker(bytes_per_s)


COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)


def config(**settings: object) -> BrokerConfig:
    named = {f"log.cleaner.{name.replace('_', '.')}": str(value) for name, value in settings.items()}
    return BrokerConfig({"process.roles": "broker,controller", "node.id": "1", **named})


def dirty_logs(path: Path, count: int) -> LogManager:
    manager = LogManager([LogDirectory(OsFileSystem(path))])
    for number in range(count):
        log = manager.get_or_create("t", number, None, COMPACTED, HOST.now_ms(), is_new=True)
        for _ in range(3):
            builder = BatchBuilder()
            builder.append(b"key", b"value", timestamp_ms=HOST.now_ms())
            log.append_as_leader(bytes(builder.build()), leader_epoch=0, now_ms=HOST.now_ms())
        log.update_high_watermark(log.log_end_offset)
        log.roll(HOST.now_ms())
    return manager


async def until(reached) -> None:
    await asyncio.to_thread(eventually, reached)


async def end(cleaning: Cleaning) -> None:
    await cleaning.cancel()
    await asyncio.to_thread(cleaning.join)
    assert cleaning.worker_pids == []


def test_each_cleaner_has_its_share_of_the_memory() -> None:
    settings = CleanerSettings.of(config(threads=4, dedupe_buffer_size=400_000_000, io_buffer_size=80_000))
    assert settings.limits.dedupe_buffer_bytes == 100_000_000
    assert settings.limits.io_buffer_bytes == 10_000
    assert settings.threads == 4


def test_no_map_is_larger_than_kafkas_and_no_machine_has_too_many_cleaners() -> None:
    assert CleanerSettings.of(config(dedupe_buffer_size=10**11)).limits.dedupe_buffer_bytes == 2**31 - 1
    assert CleanerSettings.of(config(threads=1000, dedupe_buffer_size=10**12)).threads == CLEANERS_MAX


def test_all_that_is_due_is_compacted_by_processes_that_end_then(tmp_path: Path) -> None:
    async def run() -> None:
        manager = dirty_logs(tmp_path, 3)
        cleaning = Cleaning(manager, config(threads=2, backoff_ms=10), Tasks(), HOST)
        cleaning.start()
        await until(lambda: cleaning.record.passes == 3)
        assert manager.directories[0].read_cleaner_offsets() == {("t", number): 3 for number in range(3)}
        await until(lambda: cleaning.worker_pids == [])
        assert cleaning.dead_count == 0
        assert cleaning.record.failures == 0
        assert cleaning.last_passes
        assert cleaning.record.dirty_ratio_max == 0.0
        await end(cleaning)

    asyncio.run(run())


def test_whoever_builds_the_cleaners_may_choose_who_does_their_passes(tmp_path: Path) -> None:
    async def run() -> None:
        manager = dirty_logs(tmp_path, 2)
        cleaning = Cleaning(manager, config(threads=1, backoff_ms=10), Tasks(), InlineHost())
        cleaning.start()
        await until(lambda: cleaning.record.passes == 2)
        assert cleaning.worker_pids == []
        assert cleaning.record.failures == 0
        await end(cleaning)

    asyncio.run(run())


def test_without_the_switch_or_without_cleaners_nothing_is_compacted_and_the_number_may_grow(tmp_path: Path) -> None:
    async def run() -> None:
        manager = dirty_logs(tmp_path, 1)
        tasks = WatchedTasks()
        off = Cleaning(manager, config(enable="false", backoff_ms=0), tasks, HOST)
        off.start()
        assert tasks.running_count == 0
        await end(off)
        cleaning = Cleaning(manager, config(threads=0, backoff_ms=10), tasks, HOST)
        cleaning.start()
        assert tasks.running_count == 0
        cleaning.apply(config(threads=1, backoff_ms=10))
        await until(lambda: cleaning.record.passes == 1)
        await end(cleaning)

    asyncio.run(run())


def test_a_shorter_pause_is_noticed_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        cleaning = Cleaning(dirty_logs(tmp_path, 1), config(backoff_ms=10**8), Tasks(), HOST)
        cleaning.start()
        await asyncio.sleep(0)
        cleaning.apply(config(backoff_ms=10))
        await until(lambda: cleaning.record.passes == 1)
        await end(cleaning)

    asyncio.run(run())


def test_cleaners_that_are_too_many_end(tmp_path: Path) -> None:
    async def run() -> None:
        tasks = WatchedTasks()
        cleaning = Cleaning(dirty_logs(tmp_path, 1), config(threads=3, backoff_ms=10), tasks, HOST)
        cleaning.start()
        assert tasks.running_count == 3
        cleaning.apply(config(threads=1, backoff_ms=10))
        await until(lambda: tasks.running_count == 1)
        assert cleaning.dead_count == 0
        await end(cleaning)

    asyncio.run(run())


def test_a_cleaner_that_is_wanted_again_while_it_ends_stays(tmp_path: Path, monkeypatch) -> None:
    is_ending, may_end = threading.Event(), threading.Event()
    close = WorkerProcess.close

    def slow_close(worker: WorkerProcess) -> None:
        is_ending.set()
        assert may_end.wait(60)
        close(worker)

    async def run() -> None:
        cleaning = Cleaning(dirty_logs(tmp_path, 0), config(threads=1, backoff_ms=10**8), Tasks(), HOST)
        cleaning.start()
        await asyncio.sleep(0)
        cleaning.apply(config(threads=0, backoff_ms=0))
        assert await asyncio.to_thread(is_ending.wait, 60)
        cleaning.apply(config(threads=1, backoff_ms=0))
        is_ending.clear()
        may_end.set()
        # Only a cleaner that goes on closes its process once more.
        assert await asyncio.to_thread(is_ending.wait, 10)
        assert cleaning.dead_count == 0
        await end(cleaning)

    monkeypatch.setattr(WorkerProcess, "close", slow_close)
    asyncio.run(run())
