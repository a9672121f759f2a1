"""When the passes of a broker run, and where."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.waiting import eventually_async
from ottla.broker.disks.maintenance import Maintenance
from ottla.broker.host import Machine
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

NEVER_MS = str(2**63 - 1)


class WatchedLogs(LogManager):
    """Counts the passes, and notes in which threads they run."""

    def __init__(self, directory: LogDirectory) -> None:
        super().__init__([directory])
        self.passes: Counter[str] = Counter()
        self.threads: set[threading.Thread] = set()

    def _note(self, name: str) -> None:
        self.passes[name] += 1
        self.threads.add(threading.current_thread())

    def flush_pass(self, now_ms: int, only: LogDirectory | None = None, scheduler_interval_ms: int = 0) -> int:
        self._note(f"flush {scheduler_interval_ms}")
        return super().flush_pass(now_ms, only, scheduler_interval_ms)

    def retention_pass(self, now_ms: int, only: LogDirectory | None = None) -> int:
        self._note("retention")
        return super().retention_pass(now_ms, only)

    def checkpoint_pass(self, only: LogDirectory | None = None) -> None:
        self._note("checkpoints")
        super().checkpoint_pass(only)

    def log_start_pass(self, only: LogDirectory | None = None) -> None:
        self._note("log starts")
        super().log_start_pass(only)


QUIET = {
    "log.cleaner.enable": "false",
    "log.retention.check.interval.ms": NEVER_MS,
    "log.flush.offset.checkpoint.interval.ms": str(2**31 - 1),
    "log.flush.start.offset.checkpoint.interval.ms": str(2**31 - 1),
    "replica.high.watermark.checkpoint.interval.ms": NEVER_MS,
}


def maintain(path: Path, settings: dict[str, str], is_done: Callable[[Counter[str]], object]) -> WatchedLogs:
    """Runs the passes of a broker with these settings until enough of them ran."""
    logs = WatchedLogs(LogDirectory(OsFileSystem(path)))

    async def announce_log_starts() -> None:
        pass

    async def passes() -> Counter[str]:
        return logs.passes

    async def run() -> None:
        config = BrokerConfig(single_node_defaults(path, "127.0.0.1:0") | QUIET | settings)
        maintenance = Maintenance(logs, config, Tasks(), announce_log_starts, Machine())
        maintenance.start()
        await eventually_async(passes, is_done)
        await maintenance.cancel()
        await asyncio.to_thread(maintenance.join)

    asyncio.run(run())
    logs.close(broker_epoch=0, now_ms=0, threads_per_directory=1)
    return logs


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("log.retention.check.interval.ms", "retention"),
        ("log.flush.offset.checkpoint.interval.ms", "checkpoints"),
        ("log.flush.start.offset.checkpoint.interval.ms", "log starts"),
        ("log.flush.scheduler.interval.ms", "flush 10"),
    ],
)
def test_each_pass_has_an_interval_of_its_own_and_a_thread(tmp_path: Path, setting: str, name: str) -> None:
    logs = maintain(tmp_path, {setting: "10"}, lambda passes: passes[name] >= 3)
    others = {each for each, count in logs.passes.items() if each != name and not each.startswith("flush")}
    assert others == set()
    assert threading.main_thread() not in logs.threads


def test_the_first_pass_comes_after_the_initial_delay(tmp_path: Path) -> None:
    settings = {"log.initial.task.delay.ms": "0"}
    logs = maintain(tmp_path, settings, lambda passes: len(passes) == 4)
    assert logs.passes["retention"] == logs.passes["checkpoints"] == logs.passes["log starts"] == 1


def test_without_a_period_a_pass_runs_once(tmp_path: Path) -> None:
    settings = {"log.flush.offset.checkpoint.interval.ms": "0", "log.retention.check.interval.ms": "10"}
    logs = maintain(tmp_path, settings, lambda passes: passes["retention"] >= 5 and passes["checkpoints"])
    assert logs.passes["checkpoints"] == 1


@pytest.mark.parametrize(("scheduler_ms", "looked_ms"), [(NEVER_MS, 1000), ("3000", 3000), ("200", 200)])
def test_flush_times_are_looked_at_each_second_unless_the_scheduler_has_an_interval(
    tmp_path: Path, scheduler_ms: str, looked_ms: int
) -> None:
    settings = {"log.flush.scheduler.interval.ms": scheduler_ms, "log.initial.task.delay.ms": "0"}
    logs = maintain(tmp_path, settings, lambda passes: any(name.startswith("flush") for name in passes))
    assert set(logs.passes) >= {f"flush {looked_ms}"}
