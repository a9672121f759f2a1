"""The files of a log as far as the disk is concerned: what of them is durable, and whether they are still there.

`recovery_point` is the offset up to which everything is on the disk: `flush` moves it, after the sync and never before,
and never past what a truncation took away meanwhile. A crash costs nothing below it; above it the log is scanned at
the next start. Flushes of one log come one after the other; one that waited finds its work done. Without space for the
indexes and epochs that go with them, the batches are synced all the same, and the recovery point stays.

A log ends by being closed, deleted, moved away or lost with its directory. Then it is gone: it says so to whoever still
holds it with LogGone, and touches no file any more, since another log may have taken its directory's name. Readers that
were under way notice by the version of the segments; whoever waits for a disk outside the lock does so in
`unless_gone`, which tells the error of a file that moved apart from that of a disk. The state changes before the
directory is renamed, and the directory keeps its name until a flush that is under way has ended.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LoadedLog
from ottla.storage.segment import Segment
from ottla.storage.segment_list import SegmentList
from ottla.storage.transaction_checkpoint import note_transaction_indexes


class DurableLog:
    """Segments, leader epochs and producer snapshots of one log, from opening to the end."""

    def __init__(
        self, file_system: FileSystem, directory: Path, config: LogConfig, loaded: LoadedLog, now_ms: int
    ) -> None:
        self.directory = directory
        self.config = config
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.last_flush_ms = now_ms
        self.leader_epochs = loaded.leader_epochs
        self.producers = loaded.producers
        # So that a flush or a compaction that overlaps a truncation leaves no trace.
        self.truncation_count = 0
        # Where truncations since the last `take_truncation` cut the log back to, at the lowest.
        self._truncated_to: int | None = None
        self._file_system = file_system
        self._snapshots = loaded.snapshots
        self._last_snapshot_offset = max(loaded.snapshots.offsets(), default=-1)
        self._segments = SegmentList(file_system, directory, loaded.segments, loaded.log_end_offset)
        self._lock = threading.RLock()
        self._is_gone = False
        # Held over a flush; and the directory keeps its name as long.
        self._flushing = threading.Lock()
        # The newest segment whose name is known to be on the disk.
        self._synced_active: Segment | None = None
        self._reserve_space()

    @property
    def is_gone(self) -> bool:
        """Whether the log was deleted, moved away or given up: nothing can be done with it any more."""
        return self._is_gone

    @property
    def segments(self) -> list[Segment]:
        """The segments now, oldest first; the last one is active."""
        return self._segments.segments

    @property
    def unflushed_messages(self) -> int:
        return self.log_end_offset - self.recovery_point

    @property
    def must_flush_now(self) -> bool:
        """Whether flush.messages is reached: then an append is answered after a flush."""
        return self.log_end_offset - self.recovery_point >= self.config.flush_messages

    def take_truncation(self) -> int | None:
        """The lowest offset that the log was cut back to since this was asked last: behind it nothing is compacted."""
        with self.changing():
            truncated_to, self._truncated_to = self._truncated_to, None
            return truncated_to

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock of a log that is still there."""
        with self._lock:
            if self._is_gone:
                raise LogGone(self.directory)
            yield

    @contextmanager
    def unless_gone(self) -> Iterator[None]:
        """Tell a disk error as LogGone if the log was taken away meanwhile: its files are not where they were."""
        try:
            yield
        except StorageError:
            if self._is_gone:
                raise LogGone(self.directory) from None
            raise

    def _reserve_space(self) -> None:
        if self.config.preallocate:
            self._segments.active.reserve(self.config.segment_bytes)

    def _take_snapshot(self, offset: int, *, sync: bool) -> None:
        if self.producers.map_end_offset > self._last_snapshot_offset:
            self._snapshots.write(self.producers, offset, sync=sync)
            self._last_snapshot_offset = offset

    def flush(self, now_ms: int) -> None:
        """Wait until everything appended so far is on the disk, then move the recovery point."""
        with self.changing():
            self.last_flush_ms = now_ms
            end_offset = self.log_end_offset
        with self._flushing:
            # A flush that was under way may have done it.
            if end_offset > self.recovery_point:
                self._sync()

    def _sync(self) -> None:
        with self.changing():
            end_offset = self.log_end_offset
            truncation_count = self.truncation_count
            segments = self._segments.from_offset(self.recovery_point)
            no_space = _write_indexes(segments)
            indexes = [(segment, segment.take_unsynced()) for segment in segments]
            # Opened here: without the lock they might be renamed or removed.
            files = [segment.open_for_sync() for segment in segments]
            files += [self._file_system.open(path) for _, paths in indexes for path in paths]
            has_new_names = segments[-1] is not self._synced_active
        try:
            with self.unless_gone():
                for file in files:
                    file.sync()
                if has_new_names:
                    self._file_system.sync_directory(self.directory)
                if no_space is not None:
                    raise no_space
                self.leader_epochs.write()
        except StorageError:
            for segment, paths in indexes:
                segment.give_back_unsynced(paths)
            raise
        with self.changing():
            if truncation_count == self.truncation_count:
                self.recovery_point = max(self.recovery_point, end_offset)
                self._synced_active = segments[-1]

    def close(self, now_ms: int) -> None:
        """Sync everything, store what makes the next start quick, and release the files, unless the log is gone."""
        try:
            with self.changing():
                self._segments.active.seal()
                self._take_snapshot(self.log_end_offset, sync=True)
                self.last_flush_ms = now_ms
            with self._flushing:
                self._sync()
                # It may be done without: then the next start takes longer.
                with self.unless_gone(), suppress(DiskFull):
                    note_transaction_indexes(self._file_system, self.directory)
        except LogGone:
            return
        self.abandon()

    def abandon(self) -> None:
        """Release the files without writing anything; from here on everybody who still holds the log gets LogGone."""
        with self._lock:
            self._is_gone = True
            self._segments.abandon()

    @property
    def has_deleted_files(self) -> bool:
        """Whether files wait for their removal; waits for nobody."""
        return self._segments.has_deleted

    def retire(self, target: Path) -> None:
        """Abandon the log and give its directory another name; may wait for a flush that is under way."""
        self.abandon()
        with self._flushing:
            self._file_system.rename(self.directory, target)


def _write_indexes(segments: list[Segment]) -> DiskFull | None:
    """Bring the index files up to date; what the disk says if it has no space for them."""
    try:
        for segment in segments:
            segment.write_indexes()
    except DiskFull as error:
        return error
    return None
