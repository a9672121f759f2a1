"""Compaction: of all records with the same key, the latest stays (KIP-58, KIP-534).

Up to the first dirty offset a log is clean: every key occurs once. From there on it is dirty. This module decides what
is due for a log; the work itself is a `CleaningPass`, which reads segments and writes new ones but changes nothing, so
that it can run in another process. This module then puts the new segments in the place of their sources, under the
log's lock. Offsets never change: a batch keeps its range, whatever is left in it.

Not compacted: the active segment, what is above the last stable offset, and what is younger than min.compaction.lag.ms.

Crash safety. New segments are written as `.cleaned`, synced, renamed to `.swap` (which settles that they are valid),
put in the place of their sources, and renamed once more. Opening the log finishes or undoes whatever was interrupted. A
pass that ends early, for whatever reason, has replaced whole groups or left them as they were; its `.cleaned` files are
removed at once or, if that fails, before the next pass.
"""

import math
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.inline_worker import InlineWorker
from ottla.storage.cleaning.job import (
    CleanedSegment,
    CleaningJob,
    CleaningLimits,
    LastOfProducer,
    PassEnd,
    PassStatistics,
    SourceSegment,
)
from ottla.storage.errors import LogGone, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.segment import Segment
from ottla.storage.segment_files import CLEANED_SUFFIX, SegmentFiles

# Runs a job: yields each new segment, then the end. The caller puts each segment in place before it asks for the next.
RunPass: TypeAlias = Callable[[CleaningJob, FileSystem], Generator[CleanedSegment | PassEnd, None, None]]


@dataclass(frozen=True, slots=True)
class Cleanable:
    """What there is to do for one log."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    # How long ago the oldest dirty record should have been compacted, by max.compaction.lag.ms; 0 if it is not late.
    delay_ms: int = 0

    @property
    def is_overdue(self) -> bool:
        return self.delay_ms > 0 and self.dirty_bytes > 0

    @property
    def dirty_ratio(self) -> float:
        return self.dirty_bytes / (self.clean_bytes + self.dirty_bytes) if self.dirty_bytes else 0.0

    @property
    def urgency(self) -> tuple[bool, float]:
        """What is overdue comes first, then what is dirtiest."""
        return self.is_overdue, self.dirty_ratio


@dataclass(frozen=True, slots=True)
class Compacted:
    """How a pass ended: up to where the log is clean now; no statistics if it had no effect."""

    clean_to: int
    statistics: PassStatistics | None


def survey(log: Log, first_dirty_offset: int, now_ms: int) -> Cleanable:
    """Find out what a pass over a log would do, due or not; LogGone if the log is taken away meanwhile."""
    return log.consistently(lambda segments: _survey(log, segments, first_dirty_offset, now_ms))


def is_due(cleanable: Cleanable, config: LogConfig) -> bool:
    """Whether a pass is worthwhile, by min.cleanable.dirty.ratio and max.compaction.lag.ms."""
    return cleanable.dirty_bytes > 0 and (
        cleanable.is_overdue or cleanable.dirty_ratio > config.min_cleanable_dirty_ratio
    )


def _survey(log: Log, segments: list[Segment], first_dirty_offset: int, now_ms: int) -> Cleanable:
    config = log.config
    last_stable_offset = log.last_stable_offset
    first_dirty_offset = max(first_dirty_offset, log.log_start_offset, segments[0].base_offset)
    if first_dirty_offset > log.log_end_offset:
        # The log was truncated below the checkpoint.
        first_dirty_offset = segments[0].base_offset
    clean_bytes = dirty_bytes = 0
    end_offset = first_dirty_offset
    earliest_ms: int | None = None
    for segment, following in pairwise(segments):
        if following.base_offset <= first_dirty_offset:
            clean_bytes += segment.size_bytes
            continue
        if following.base_offset > last_stable_offset or _is_young(segment, config, now_ms):
            break
        dirty_bytes += segment.size_bytes
        end_offset = following.base_offset
        first_ms = segment.first_timestamp
        if first_ms > 0:
            earliest_ms = first_ms if earliest_ms is None else min(earliest_ms, first_ms)
    delay_ms = 0 if earliest_ms is None else max(0, now_ms - earliest_ms - config.max_compaction_lag_ms)
    return Cleanable(first_dirty_offset, end_offset, clean_bytes, dirty_bytes, delay_ms)


def _is_young(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    return config.min_compaction_lag_ms > 0 and segment.max_timestamp > now_ms - config.min_compaction_lag_ms


def run_here(job: CleaningJob, file_system: FileSystem) -> Generator[CleanedSegment | PassEnd, None, None]:
    """Run a job in this thread, without a limit on its rate."""
    return InlineWorker(lambda: math.inf).run(job, file_system)


def compact(
    log: Log,
    file_system: FileSystem,
    cleanable: Cleanable,
    now_ms: int,
    run: RunPass = run_here,
    limits: CleaningLimits | None = None,
) -> Compacted:
    """Compact a log as the survey found it; reads and writes whole segments.

    If the log is truncated meanwhile, the pass ends without further effect and a later one starts over. LogGone if the
    log is taken away; StorageError or CorruptRecords if the fault is real.
    """
    return _Compaction(log, file_system, cleanable, now_ms).run(run, limits or CleaningLimits())


class _Compaction:
    """One pass over one log."""

    def __init__(self, log: Log, file_system: FileSystem, cleanable: Cleanable, now_ms: int) -> None:
        self._log = log
        self._file_system = file_system
        self._cleanable = cleanable
        self._now_ms = now_ms
        with log.changing():
            self._truncation_count = log.truncation_count
            # Those not replaced yet.
            self._sources = [segment for segment in log.segments[:-1] if segment.base_offset < cleanable.end_offset]

    def run(self, run: RunPass, limits: CleaningLimits) -> Compacted:
        without_effect = Compacted(self._cleanable.first_dirty_offset, None)
        if not self._sources:
            return without_effect
        try:
            self._remove_leftovers()
            job = self._job(limits)
            with closing(run(job, self._file_system)) as steps:
                for step in steps:
                    if isinstance(step, PassEnd):
                        return Compacted(step.clean_to, step.statistics)
                    if not self._put_in_place(step):
                        return without_effect
            raise AssertionError("a pass has an end")
        except LogGone:
            raise
        except Exception as error:
            with suppress(StorageError):
                self._remove_leftovers()
            is_told_of_files = isinstance(error, StorageError | CorruptRecords)
            if is_told_of_files and not self._log.still_holds(self._sources, self._truncation_count):
                return without_effect
            raise

    def _job(self, limits: CleaningLimits) -> CleaningJob:
        log, config, sources = self._log, self._log.config, self._sources
        end_offset = self._cleanable.end_offset
        return CleaningJob(
            root=self._file_system.root,
            directory=log.directory,
            sources=tuple(SourceSegment(segment.base_offset, segment.size_bytes) for segment in sources),
            first_dirty_offset=self._cleanable.first_dirty_offset,
            end_offset=end_offset,
            aborted=tuple(log.aborted_transactions(sources[0].base_offset, end_offset)),
            producers={
                state.producer_id: LastOfProducer(state.epoch, state.last_offset if state.last_offset >= 0 else None)
                for state in log.producer_states()
            },
            segment_bytes=config.segment_bytes,
            segment_index_bytes=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            delete_retention_ms=config.delete_retention_ms,
            now_ms=self._now_ms,
            limits=limits,
        )

    def _put_in_place(self, cleaned: CleanedSegment) -> bool:
        """Let a new segment take the place of its sources; False if the log changed and nothing was done."""
        old = self._sources[: cleaned.source_count]
        new = Segment(
            SegmentFiles(self._file_system, self._log.directory, cleaned.base_offset, CLEANED_SUFFIX),
            cleaned.size_bytes,
            index_interval_bytes=self._log.config.index_interval_bytes,
            created_ms=self._now_ms,
        )
        if not self._log.replace_segments(old, new, self._truncation_count, self._now_ms):
            return False
        del self._sources[: cleaned.source_count]
        return True

    def _remove_leftovers(self) -> None:
        """Remove what an unfinished pass left in the log's directory."""
        with suppress(LogGone), self._log.changing():
            for name in self._file_system.list_directory(self._log.directory):
                if name.endswith(CLEANED_SUFFIX):
                    self._file_system.remove(self._log.directory / name)
