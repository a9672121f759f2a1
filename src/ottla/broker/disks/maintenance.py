"""What a broker does for its logs now and then: retention, removal of files, flushes, checkpoints; and its cleaners.

Each pass waits for disks, so it runs in a thread, at Kafka's interval for it, and never twice at the same time. Each
directory has its own passes: a disk that is slow keeps no other waiting.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ottla.broker.disks.cleaning import Cleaning
from ottla.broker.host import Host
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

logger = logging.getLogger("ottla.broker.maintenance")

# flush.ms is looked at this often unless log.flush.scheduler.interval.ms says otherwise, which is "never" by default;
# and so soon a closed segment is synced.
_FLUSH_CHECK_MS = 1000
# So long after file.delete.delay.ms the files of what was deleted may still be there.
_REMOVAL_CHECK_MS = 1000
# Longer intervals mean "never".
_INTERVAL_MS_MAX = 30 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class _Pass:
    name: str
    interval_ms: int
    run: Callable[[], int]
    # What the loop does after each round, however it went.
    then: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class PassRecord:
    """What the rounds of a pass did so far: how often, how long, and how many logs or segments it was about."""

    count: int = 0
    failures: int = 0
    seconds: float = 0.0
    done: int = 0


class Maintenance:
    """The passes of one broker, from `start` to `stop`."""

    def __init__(
        self,
        logs: LogManager,
        config: BrokerConfig,
        tasks: Tasks,
        announce_log_starts: Callable[[], Awaitable[None]],
        host: Host,
    ) -> None:
        """`announce_log_starts` is called on the event loop when retention may have deleted records."""
        self._tasks = tasks
        self._initial_delay_ms = config.get_int("log.initial.task.delay.ms")
        self._running: list[asyncio.Task[None]] = []
        self._passes = [
            one
            for directory in logs.directories
            for one in _passes_of(directory, logs, config, announce_log_starts, host.now_ms)
        ]
        # Those of all directories together.
        self.records = {one.name: PassRecord() for one in self._passes}
        self._threads = host.thread_pool(len(self._passes), "maintenance")
        self.cleaning = Cleaning(logs, config, tasks, host)

    def start(self) -> None:
        """Begins the rounds."""
        self._running = [self._start(one) for one in self._passes]
        self.cleaning.start()

    def _start(self, one: _Pass) -> asyncio.Task[None]:
        if one.interval_ms <= 0:
            # As Kafka's scheduler has it: without a period, once.
            return self._tasks.start_background(one.name, self._round(one))
        first_after_s = min(one.interval_ms, self._initial_delay_ms) / 1000
        return self._tasks.start_periodic(
            one.name, lambda: self._round(one), one.interval_ms / 1000, first_after_s=first_after_s
        )

    def apply(self, config: BrokerConfig) -> None:
        """New settings of the node."""
        self.cleaning.apply(config)

    async def cancel(self) -> None:
        """Begins no other pass."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, self.cleaning.cancel(), return_exceptions=True)

    def join(self) -> None:
        """Lets a pass that is under way finish; for a thread."""
        self._threads.shutdown()
        self.cleaning.join()

    async def _round(self, one: _Pass) -> None:
        loop = asyncio.get_running_loop()
        record = self.records[one.name]
        began_s = loop.time()
        try:
            record.done += await loop.run_in_executor(self._threads, one.run)
        except Exception:
            # What follows a pass does so however it went: it may have come half of its way.
            logger.exception("The %s pass failed", one.name)
            record.failures += 1
        record.count += 1
        record.seconds += loop.time() - began_s
        if one.then is not None:
            await one.then()


def _passes_of(
    directory: LogDirectory,
    logs: LogManager,
    config: BrokerConfig,
    announce_log_starts: Callable[[], Awaitable[None]],
    now_ms: Callable[[], int],
) -> list[_Pass]:
    scheduler_ms = config.get_int("log.flush.scheduler.interval.ms")
    flush_ms = _FLUSH_CHECK_MS
    if scheduler_ms > _INTERVAL_MS_MAX:
        scheduler_ms = flush_ms
    elif 0 < scheduler_ms < flush_ms:
        flush_ms = scheduler_ms
    retention_ms = config.get_int("log.retention.check.interval.ms")
    checkpoints_ms = config.get_int("log.flush.offset.checkpoint.interval.ms")
    log_starts_ms = config.get_int("log.flush.start.offset.checkpoint.interval.ms")
    high_watermarks_ms = config.get_int("replica.high.watermark.checkpoint.interval.ms")
    producers_ms = config.get_int("producer.id.expiration.check.interval.ms")
    return [
        _Pass("flush", flush_ms, lambda: logs.flush_pass(now_ms(), directory, scheduler_ms)),
        _Pass("retention", retention_ms, lambda: logs.retention_pass(now_ms(), directory), announce_log_starts),
        _Pass("file removal", _REMOVAL_CHECK_MS, lambda: logs.removal_pass(now_ms(), directory)),
        _Pass("checkpoints", checkpoints_ms, lambda: _uncounted(logs.checkpoint_pass, directory)),
        _Pass("log start offsets", log_starts_ms, lambda: _uncounted(logs.log_start_pass, directory)),
        _Pass("high watermarks", high_watermarks_ms, lambda: _uncounted(logs.high_watermark_pass, directory)),
        _Pass("producer expiry", producers_ms, lambda: logs.producer_expiry_pass(now_ms(), directory)),
    ]


def _uncounted(run: Callable[[LogDirectory], None], directory: LogDirectory) -> int:
    run(directory)
    return 0
