"""The periodic work on a broker's logs: retention, removal of files, flushes, checkpoints; and the cleaners.

Each pass waits for disks, so it runs in a thread, at Kafka's interval, and never twice at the same time. Each directory
has its own passes, so that a slow disk does not block the others.
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

# flush.ms is checked this often, and a closed segment is synced this soon, unless log.flush.scheduler.interval.ms is
# set; its default is "never".
_FLUSH_CHECK_MS = 1000
# How much longer than file.delete.delay.ms the files of deleted logs may stay.
_REMOVAL_CHECK_MS = 1000
# Longer intervals mean "never".
_INTERVAL_MS_MAX = 30 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class _Pass:
    name: str
    interval_ms: int
    run: Callable[[], int]
    # Called on the loop after each round, even after one that failed.
    then: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class PassRecord:
    """Totals of a pass: rounds, seconds, and the logs or segments that it changed."""

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
        # For all directories together.
        self.records = {one.name: PassRecord() for one in self._passes}
        self._threads = host.thread_pool(len(self._passes), "maintenance")
        self.cleaning = Cleaning(logs, config, tasks, host)

    def start(self) -> None:
        """Starts the passes."""
        self._running = [self._start(one) for one in self._passes]
        self.cleaning.start()

    def _start(self, one: _Pass) -> asyncio.Task[None]:
        if one.interval_ms <= 0:
            # As in Kafka's scheduler: without a period, once.
            return self._tasks.start_background(one.name, self._round(one))
        first_after_s = min(one.interval_ms, self._initial_delay_ms) / 1000
        return self._tasks.start_periodic(
            one.name, lambda: self._round(one), one.interval_ms / 1000, first_after_s=first_after_s
        )

    def apply(self, config: BrokerConfig) -> None:
        """Applies new settings of the node."""
        self.cleaning.apply(config)

    async def cancel(self) -> None:
        """Starts no further pass."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, self.cleaning.cancel(), return_exceptions=True)

    def join(self) -> None:
        """Waits for the passes in progress. Blocks, so call it in a thread."""
        self._threads.shutdown()
        self.cleaning.join()

    async def _round(self, one: _Pass) -> None:
        loop = asyncio.get_running_loop()
        record = self.records[one.name]
        began_s = loop.time()
        try:
            record.done += await loop.run_in_executor(self._threads, one.run)
        except Exception:
            # The follow-up runs even after a failure: the pass may have done half of its work.
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
