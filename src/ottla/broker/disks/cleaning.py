"""The cleaners of a broker: as many as log.cleaner.threads says, each with a process of its own.

A cleaner chooses the log that needs compaction most, has its process compact it, and puts the new segments in place.
When no log needs compaction, it ends the process and pauses for log.cleaner.backoff.ms. The event loop only waits: each
directory is surveyed in a thread of its own, so that a hanging disk does not block the others, and each pass has a
thread that listens to the process. All settings except log.cleaner.enable take effect while the node runs.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from ottla.broker.host import Host
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.storage.cleaning.job import CleaningLimits, CleaningWorker, PassStatistics
from ottla.storage.log_cleaning import Candidate, LeftOut, Outcome
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

logger = logging.getLogger("ottla.broker.cleaning")

# More cleaners than any machine can use; each may need a thread.
CLEANERS_MAX = 256
# How long a round waits for directories whose survey is slow.
_SURVEY_WAIT_S = 10.0
# With log.cleaner.backoff.ms=0, a pass that fails at once must not keep the loop busy.
_FAILURE_PAUSE_S = 1.0
# Kafka's map is a Java array, which cannot be larger.
_DEDUPE_BYTES_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """The settings in force."""

    threads: int
    backoff_ms: int
    bytes_per_s: float
    limits: CleaningLimits

    @classmethod
    def of(cls, config: BrokerConfig) -> "CleanerSettings":
        """Each cleaner gets its share of the memory; a half of its buffer is for reading, the other for writing."""
        threads = min(config.get_int("log.cleaner.threads"), CLEANERS_MAX)
        share = max(threads, 1)
        return cls(
            threads,
            config.get_int("log.cleaner.backoff.ms"),
            config.get_float("log.cleaner.io.max.bytes.per.second"),
            CleaningLimits(
                dedupe_buffer_bytes=min(config.get_int("log.cleaner.dedupe.buffer.size") // share, _DEDUPE_BYTES_MAX),
                io_buffer_bytes=config.get_int("log.cleaner.io.buffer.size") // share // 2,
                load_factor=config.get_float("log.cleaner.io.buffer.load.factor"),
            ),
        )


@dataclass(slots=True)
class CleaningRecord:
    """Totals of the cleaners, and the results of the last passes and of the last survey."""

    looked_at_s: float
    passes: int = 0
    failures: int = 0
    seconds: float = 0.0
    dirty_ratio_max: float = 0.0
    delay_ms_max: int = 0


class Cleaning:
    """The cleaners of one broker, from `start` to `join`."""

    def __init__(self, logs: LogManager, config: BrokerConfig, tasks: Tasks, host: Host) -> None:
        self._logs = logs
        self._host = host
        self._tasks = tasks
        self._is_enabled = config.get_bool("log.cleaner.enable")
        self._settings = CleanerSettings.of(config)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._workers: dict[int, CleaningWorker] = {}
        self._busy: set[int] = set()
        self._choosing = asyncio.Lock()
        self._changed = asyncio.Event()
        self._is_started = False
        self._surveys: dict[LogDirectory, asyncio.Future[list[Candidate]]] = {}
        self._threads = host.thread_pool(CLEANERS_MAX, "cleaner")
        self.record = CleaningRecord(host.monotonic_s())
        # By cleaner, as Kafka's gauges of the last pass are.
        self.last_passes: dict[int, PassStatistics] = {}

    @property
    def dead_count(self) -> int:
        """How many cleaners should run and do not."""
        wanted = self._settings.threads if self._is_started and self._is_enabled else 0
        return sum(number not in self._running or self._running[number].done() for number in range(wanted))

    @property
    def worker_pids(self) -> list[int]:
        """The ids of the processes that run now."""
        return [worker.pid for worker in self._workers.values() if worker.pid is not None]

    def start(self) -> None:
        """Starts the cleaners."""
        self._is_started = True
        self._start_missing()

    def apply(self, config: BrokerConfig) -> None:
        """Applies new settings: starts and ends cleaners, and makes running ones notice at once."""
        settings = CleanerSettings.of(config)
        if settings != self._settings:
            self._settings = settings
            self._changed.set()
            self._changed = asyncio.Event()
            self._start_missing()

    async def cancel(self) -> None:
        """Starts no further pass, and gives up those in progress."""
        self._is_started = False
        for worker in self._workers.values():
            worker.stop()
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def join(self) -> None:
        """Waits until no thread works on a log any more. Blocks, so call it in a thread."""
        self._threads.shutdown()
        for worker in self._workers.values():
            worker.close()

    def _start_missing(self) -> None:
        if not self._is_started or not self._is_enabled:
            return
        for number in range(self._settings.threads):
            if number not in self._running or self._running[number].done():
                self._running[number] = self._tasks.start_background(f"cleaner {number}", self._rounds(number))

    async def _rounds(self, number: int) -> None:
        worker = self._workers[number] = self._host.cleaning_worker(self._share)
        while True:
            await self._pause()
            try:
                await self._round(number, worker)
            except Exception:
                logger.exception(
                    "A round of cleaner %d failed; the next one starts after log.cleaner.backoff.ms", number
                )
                await asyncio.sleep(_FAILURE_PAUSE_S)
            # Checked last: while the process ended, the settings may have asked for this cleaner again.
            if number >= self._settings.threads:
                return

    async def _round(self, number: int, worker: CleaningWorker) -> None:
        """Compacts one log after the other until none needs it."""
        left_out = LeftOut()
        while number < self._settings.threads and (chosen := await self._choose(left_out)) is not None:
            left_out.note(chosen, await self._clean(number, worker, chosen))
        await self._in_thread(worker.close)

    def _in_thread(self, work: Callable[[], object]) -> asyncio.Future[object]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _share(self) -> float:
        """The bytes per second of each busy cleaner; called in its thread."""
        return self._settings.bytes_per_s / max(1, len(self._busy))

    async def _pause(self) -> None:
        """Waits for log.cleaner.backoff.ms, or less if that changes meanwhile."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while (left_s := began_s + self._settings.backoff_ms / 1000 - loop.time()) > 0:
            changed = self._changed
            try:
                await asyncio.wait_for(changed.wait(), left_s)
            except TimeoutError:
                return

    async def _choose(self, left_out: LeftOut) -> Candidate | None:
        """The log to compact next, in the directories that answer."""
        async with self._choosing:
            online = self._logs.online_directories
            for directory in online:
                if directory not in self._surveys or self._surveys[directory].done():
                    self._surveys[directory] = self._survey(directory)
            wanted = [self._surveys[directory] for directory in online]
            if wanted:
                await asyncio.wait(wanted, timeout=_SURVEY_WAIT_S)
            found = [candidate for survey in wanted if survey.done() for candidate in survey.result()]
            self.record.looked_at_s = self._host.monotonic_s()
            self.record.dirty_ratio_max = max((one.cleanable.dirty_ratio for one in found), default=0.0)
            self.record.delay_ms_max = max((one.cleanable.delay_ms for one in found), default=0)
            return self._logs.cleaning.choose(found, left_out)

    def _survey(self, directory: LogDirectory) -> asyncio.Future[list[Candidate]]:
        return asyncio.get_running_loop().run_in_executor(self._threads, self._candidates, directory)

    def _candidates(self, directory: LogDirectory) -> list[Candidate]:
        try:
            return self._logs.cleaning.candidates(directory, self._host.now_ms())
        except Exception:
            # A problem in one directory must not stop compaction in the others.
            logger.exception("Cannot find out what needs compaction in %s", directory.path)
            return []

    async def _clean(self, number: int, worker: CleaningWorker, chosen: Candidate) -> Outcome:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        self._busy.add(number)

        def note(statistics: PassStatistics) -> None:
            self.last_passes[number] = statistics

        def clean() -> Outcome:
            return self._logs.cleaning.clean(
                chosen, self._host.now_ms(), run=worker.run, limits=self._settings.limits, on_end=note
            )

        try:
            outcome = await loop.run_in_executor(self._threads, clean)
        finally:
            self._busy.discard(number)
            self.record.seconds += loop.time() - began_s
        if outcome is Outcome.CLEANED:
            self.record.passes += 1
        else:
            self.record.failures += 1
        return outcome
