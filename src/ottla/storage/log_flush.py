"""How much of a log is durable, and the syncs that make it more.

`recovery_point` is the offset up to which everything is on the disk. A flush moves it only after the sync, and never
past what a truncation took away meanwhile. A crash costs nothing below it; above it the log is scanned at the next
start. Flushes of one log run one after the other; one that waited may find its work done. Without space for the indexes
and epochs that go with them, the batches are synced all the same, and the recovery point stays.

A failed sync is final. Linux reports a write error to one sync per descriptor and then counts the lost pages as clean:
the next sync would report success, and records would be acknowledged that are on no disk. So every later flush of the
log fails as well, the one that waited for the failed one too, until a restart has scanned what is there. Only a disk
without space may be asked again.

No lock of the log is held over a sync: files are opened under it, so that they are the right ones whatever is renamed
or removed afterwards. The directory keeps its name until the flush that is under way has ended.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.log_access import LogAccess
from ottla.storage.segment import Segment
from ottla.storage.segment_list import SegmentList
from ottla.storage.transaction_checkpoint import note_transaction_indexes


class LogFlush:
    """The flushes of one log; `end_offset` tells where the log ends, under its lock."""

    __slots__ = (
        "_access",
        "_failure",
        "_file_system",
        "_leader_epochs",
        "_segments",
        "_synced_active",
        "last_flush_ms",
        "recovery_point",
        "under_way",
    )

    def __init__(
        self,
        file_system: FileSystem,
        access: LogAccess,
        segments: SegmentList,
        leader_epochs: LeaderEpochs,
        *,
        recovery_point: int,
        now_ms: int,
    ) -> None:
        self._file_system = file_system
        self._access = access
        self._segments = segments
        self._leader_epochs = leader_epochs
        self.recovery_point = recovery_point
        self.last_flush_ms = now_ms
        # Held over a flush.
        self.under_way = threading.Lock()
        # Why a sync failed, if one did. As text: an error would keep alive the stack that it passed.
        self._failure: str | None = None
        # The newest segment whose name is known to be on the disk.
        self._synced_active: Segment | None = None

    def flush(self, end_offset: Callable[[], int], now_ms: int) -> None:
        """Wait until everything appended so far is on the disk, then move the recovery point."""
        with self._access.changing():
            self.last_flush_ms = now_ms
            wanted = end_offset()
        with self.under_way:
            self._require_no_failure()
            # The flush that was under way may have done this one's work.
            if wanted > self.recovery_point:
                self._sync(end_offset)

    def flush_at_close(self, end_offset: Callable[[], int]) -> None:
        """Sync everything, and note what lets the next start trust the indexes."""
        with self.under_way:
            self._require_no_failure()
            self._sync(end_offset)
            # Without it the next start takes longer, no more.
            with self._access.unless_gone(), suppress(DiskFull):
                note_transaction_indexes(self._file_system, self._access.directory)

    def cut_back(self, offset: int) -> None:
        """Lower the recovery point after a truncation; the caller holds the log's lock."""
        self.recovery_point = min(self.recovery_point, offset)
        # The names of segments that are gone must not come back either.
        self._synced_active = None

    def _require_no_failure(self) -> None:
        """StorageError if a sync failed before."""
        if self._failure is not None:
            cause = f"an earlier sync failed: {self._failure}"
            raise StorageError(self._file_system.root, "sync", self._access.directory, cause)

    def _sync(self, end_offset: Callable[[], int]) -> None:
        with self._access.changing():
            synced_to = end_offset()
            truncation_count = self._segments.truncation_count
            segments = self._segments.unsynced_from(self.recovery_point)
            cut = [segment for segment in segments if segment.has_unsynced_cut]
            no_space = _write_indexes(segments)
            indexes = [(segment, segment.take_unsynced()) for segment in segments]
            # Open them under the lock: without it they might be renamed or removed.
            files = [segment.open_for_sync() for segment in segments]
            files += [self._file_system.open(path) for _, paths in indexes for path in paths]
            has_new_names = segments[-1] is not self._synced_active
            # From now on: what is taken back meanwhile may come too late for this sync.
            for segment in cut:
                segment.has_unsynced_cut = False
        try:
            with self._access.unless_gone():
                for file in files:
                    file.sync()
                if has_new_names:
                    self._file_system.sync_directory(self._access.directory)
                if no_space is not None:
                    raise no_space
                self._leader_epochs.write()
        except StorageError as error:
            if not isinstance(error, DiskFull):
                self._failure = str(error)
            for segment, paths in indexes:
                segment.give_back_unsynced(paths)
            for segment in cut:
                segment.has_unsynced_cut = True
            raise
        with self._access.changing():
            if truncation_count == self._segments.truncation_count:
                self.recovery_point = max(self.recovery_point, synced_to)
                self._synced_active = segments[-1]


def _write_indexes(segments: list[Segment]) -> DiskFull | None:
    """Bring the index files up to date; returns the error if the disk has no space for them."""
    try:
        for segment in segments:
            segment.write_indexes()
    except DiskFull as error:
        return error
    return None
