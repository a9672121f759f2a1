"""Which log is compacted next, how that ends, and which logs cannot be.

What is overdue by max.compaction.lag.ms comes first, then the dirtiest. One cleaner at a time compacts a log. How far
each log is clean is in the checkpoint of its directory; a truncation takes that back.

A log that cannot be compacted, because of a damaged batch or for an unforeseen reason, is marked, reported in the
broker's log and the metrics, and left alone while the others go on. The mark is removed when the log is truncated or
recreated, and by a restart. A worker that dies says nothing about the log, unless it happens repeatedly.

A broken disk takes its directory offline, as always. A full disk does not: its logs are skipped in this round.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from ottla.protocol.records import CorruptRecords
from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.cleaning.job import CleaningLimits, PassStatistics, WorkerFailed
from ottla.storage.compaction import Cleanable, RunPass, compact, is_due, run_here, survey
from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory

logger = logging.getLogger(__name__)

# If so many workers in succession die over a log, it cannot be compacted.
WORKER_FAILURES_MAX = 3


class Candidate(NamedTuple):
    """A log that could be compacted."""

    directory: LogDirectory
    key: TopicPartition
    log: Log
    cleanable: Cleanable


class Outcome(Enum):
    """How an attempt to compact a log ended."""

    CLEANED = "cleaned"
    # The log changed, or is gone, or is marked now.
    SKIPPED = "skipped"
    # The directory has a problem.
    REFUSED = "refused"


@dataclass(slots=True)
class LeftOut:
    """What a round does not try again."""

    directories: set[LogDirectory] = field(default_factory=set)
    logs: set[TopicPartition] = field(default_factory=set)

    def note(self, candidate: Candidate, outcome: Outcome) -> None:
        if outcome is Outcome.REFUSED:
            self.directories.add(candidate.directory)
        elif outcome is Outcome.SKIPPED:
            self.logs.add(candidate.key)


class _Mark(NamedTuple):
    """A log that cannot be compacted, as it was when that was found."""

    log: Log
    truncation_count: int
    directory: Path
    dirty_bytes: int


class UncleanableLogs(NamedTuple):
    """Those of one directory."""

    partitions: int
    dirty_bytes: int


class LogCleaning:
    """The compaction of all logs of a broker; for several threads."""

    def __init__(self, on_storage_error: Callable[[StorageError], object]) -> None:
        self._on_storage_error = on_storage_error
        self._lock = threading.Lock()
        self._in_progress: set[TopicPartition] = set()
        self._marks: dict[TopicPartition, _Mark] = {}
        self._worker_failures: dict[TopicPartition, int] = {}

    # Choosing.

    def candidates(self, directory: LogDirectory, now_ms: int) -> list[Candidate]:
        """Find out what a pass over each compacted log of a directory would do, due or not; may wait for the disk."""
        found: list[Candidate] = []
        try:
            offsets = directory.read_cleaner_offsets()
            for key, log in list(directory.logs.items()):
                if log.config.is_compacted and not self.is_uncleanable(key, log):
                    cleanable = self._survey(directory, key, log, offsets.get(key, 0), now_ms)
                    if cleanable is not None:
                        found.append(Candidate(directory, key, log, cleanable))
        except StorageError as error:
            self._on_storage_error(error)
        return found

    def _survey(
        self, directory: LogDirectory, key: TopicPartition, log: Log, clean_to: int, now_ms: int
    ) -> Cleanable | None:
        try:
            truncated_to = log.take_truncation()
            if truncated_to is not None and truncated_to < clean_to:
                clean_to = truncated_to
                directory.write_cleaner_offset(key, log, clean_to)
            return survey(log, clean_to, now_ms)
        except LogGone:
            return None
        except DiskFull as error:
            self._on_storage_error(error)
            return None
        except CorruptRecords as error:
            self._mark(directory, key, log, log.size_bytes, error.message)
            return None

    def choose(self, found: Iterable[Candidate], left_out: LeftOut) -> Candidate | None:
        """Choose the log that needs it most and can be compacted now; it is in progress until `clean` returns."""
        due = [
            candidate
            for candidate in found
            if candidate.directory not in left_out.directories
            and candidate.key not in left_out.logs
            and is_due(candidate.cleanable, candidate.log.config)
        ]
        due.sort(key=lambda candidate: candidate.cleanable.urgency, reverse=True)
        with self._lock:
            for candidate in due:
                if candidate.key not in self._in_progress:
                    self._in_progress.add(candidate.key)
                    return candidate
        return None

    # Cleaning.

    def clean(
        self,
        candidate: Candidate,
        now_ms: int,
        *,
        run: RunPass = run_here,
        limits: CleaningLimits | None = None,
        on_end: Callable[[PassStatistics], None] = lambda _: None,
    ) -> Outcome:
        """Compact the log that was chosen; may take long."""
        directory, key, log, cleanable = candidate
        try:
            ended = compact(log, directory.file_system, cleanable, now_ms, run, limits)
            if ended.statistics is None:
                return Outcome.SKIPPED
            directory.write_cleaner_offset(key, log, ended.clean_to)
            self._note_end(key, ended.statistics)
            on_end(ended.statistics)
            return Outcome.CLEANED
        except StorageError as error:
            self._on_storage_error(error)
            return Outcome.REFUSED
        except LogGone:
            return Outcome.SKIPPED
        except CorruptRecords as error:
            self._mark(directory, key, log, cleanable.dirty_bytes, error.message)
            return Outcome.SKIPPED
        except WorkerFailed as error:
            self._note_worker_failure(candidate, error)
            return Outcome.SKIPPED
        except Exception:
            # No error may keep the other logs from being compacted.
            logger.exception("%s-%d cannot be compacted", *key)
            self._mark(directory, key, log, cleanable.dirty_bytes, "an unexpected error, see above")
            return Outcome.SKIPPED
        finally:
            with self._lock:
                self._in_progress.discard(key)

    def _note_end(self, key: TopicPartition, statistics: PassStatistics) -> None:
        with self._lock:
            self._worker_failures.pop(key, None)
        logger.info(
            "compacted %s-%d in %.1f s: %d of %d records stay",
            *key,
            statistics.seconds,
            statistics.records_kept,
            statistics.records_read,
        )
        if statistics.keyless_records:
            logger.warning(
                "%d records of %s-%d had no key, and compaction dropped them", statistics.keyless_records, *key
            )

    def _note_worker_failure(self, candidate: Candidate, error: WorkerFailed) -> None:
        directory, key, log, cleanable = candidate
        with self._lock:
            failures = self._worker_failures[key] = self._worker_failures.get(key, 0) + 1
        if error.was_asked_for:
            return
        if failures >= WORKER_FAILURES_MAX:
            self._mark(directory, key, log, cleanable.dirty_bytes, str(error))
        else:
            logger.warning("compacting %s-%d will be tried again: %s", *key, error)

    # What cannot be cleaned.

    def is_uncleanable(self, key: TopicPartition, log: Log) -> bool:
        """Whether a log is marked, and is still the log that was marked."""
        with self._lock:
            mark = self._marks.get(key)
            if mark is None:
                return False
            if mark.log is log and mark.truncation_count == log.truncation_count:
                return True
            del self._marks[key]
            self._worker_failures.pop(key, None)
            return False

    def forget(self, key: TopicPartition) -> None:
        """A log was taken out."""
        with self._lock:
            self._marks.pop(key, None)
            self._worker_failures.pop(key, None)

    def uncleanable_in(self, path: Path) -> UncleanableLogs:
        """The marked logs of a directory."""
        with self._lock:
            marks = [mark for mark in self._marks.values() if mark.directory == path]
        return UncleanableLogs(len(marks), sum(mark.dirty_bytes for mark in marks))

    def _mark(self, directory: LogDirectory, key: TopicPartition, log: Log, dirty_bytes: int, reason: str) -> None:
        logger.error(
            "%s-%d in %s cannot be compacted and stays as it is, while others go on: %s", *key, directory.path, reason
        )
        with self._lock:
            self._marks[key] = _Mark(log, log.truncation_count, directory.path, dirty_bytes)
