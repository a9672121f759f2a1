"""What a worker is told about a log, and what it reports. All of it but its failure travels between processes."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ottla.storage.file_system import FileSystem
from ottla.storage.transaction_index import AbortedTransaction

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CleaningLimits:
    """The memory of one pass: its share of the `log.cleaner.*` settings with these names."""

    dedupe_buffer_bytes: int = 128 * _MEBIBYTE
    io_buffer_bytes: int = 512 * 1024
    load_factor: float = 0.9


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """A closed segment; the file has at least these bytes, and nobody changes them."""

    base_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """What a log must keep of a producer: its last batch, or if it has none, a marker of its epoch."""

    epoch: int
    last_offset: int | None


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """One pass over one log."""

    # The log directory, which is blamed for disk errors, and the log's own in it.
    root: Path
    directory: Path
    sources: tuple[SourceSegment, ...]
    first_dirty_offset: int
    # Where the first segment begins that must not be touched.
    end_offset: int
    aborted: tuple[AbortedTransaction, ...]
    producers: Mapping[int, LastOfProducer]
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    delete_retention_ms: int
    now_ms: int
    limits: CleaningLimits


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """New files that end in `.cleaned`, synced, for the sources from one base offset on."""

    base_offset: int
    source_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PassStatistics:
    """What one pass read and wrote."""

    # Of the segments that were written anew; the dirty ones among them were read before, for the map.
    bytes_cleaned: int = 0
    bytes_mapped: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0
    keyless_records: int = 0
    map_utilization: float = 0.0
    seconds: float = 0.0


class WorkerFailed(Exception):
    """A worker died, was silent for too long, or was told to stop; the log is unchanged."""

    def __init__(self, message: str, *, was_asked_for: bool = False) -> None:
        super().__init__(message)
        self.was_asked_for = was_asked_for


@dataclass(frozen=True, slots=True)
class PassEnd:
    """A pass that went through: the log is clean up to an offset."""

    clean_to: int
    statistics: PassStatistics


class CleaningWorker(Protocol):
    """Runs the passes of a cleaner, for one thread at a time."""

    @property
    def pid(self) -> int | None:
        """Its process, if there is one."""

    def run(self, job: CleaningJob, file_system: FileSystem, /) -> Generator[CleanedSegment | PassEnd, None, None]:
        """Does a job; WorkerFailed, StorageError, CorruptRecords."""

    def stop(self) -> None:
        """Gives up the job that another thread is running here, and takes no other."""

    def close(self) -> None:
        """Releases what a job needs, until the next one."""
