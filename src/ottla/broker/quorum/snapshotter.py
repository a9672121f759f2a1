"""When to snapshot, and what may be removed afterwards (KIP-630).

A snapshot is taken when enough bytes of records were applied since the last one, or when enough time has passed and
anything has changed. Older snapshots, and the log before the oldest that stays, go when log and snapshots together
exceed the retention size, or when they are too old; the newest snapshot always stays.

The publisher of images reports what was applied; snapshots are written in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.settings import MetadataQuorumSettings
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.image import ClusterImage
from ottla.metadata.log_batches import MetadataBatch
from ottla.metadata.snapshot import encode_snapshot
from ottla.raft import Event, LogStartMoved, Membership, OffsetAndEpoch, SnapshotCreated
from ottla.storage.errors import DamagedFile, DiskFull, StorageError

logger = logging.getLogger("ottla.broker.quorum")


class Snapshotter:
    def __init__(
        self,
        *,
        files: SnapshotFiles,
        log: MetadataLogStore,
        settings: MetadataQuorumSettings,
        membership_at: Callable[[int], Membership],
        wall_clock_ms: Callable[[], int],
        last_snapshot_ms: int,
        report: Callable[[Event], object],
    ) -> None:
        """`membership_at` returns the membership that a snapshot ending at an offset has to record; `report` takes
        raft's events. Both are called on the loop."""
        self._files = files
        self._log = log
        self._settings = settings
        self._membership_at = membership_at
        self._wall_clock_ms = wall_clock_ms
        self._last_snapshot_ms = last_snapshot_ms
        self._report = report
        self._bytes_since_snapshot = 0
        self._last_timestamp_ms = 0
        self._task: asyncio.Task[None] | None = None

    def applied(self, batches: Sequence[MetadataBatch], image: ClusterImage, *, is_whole: bool) -> None:
        """Counts what was applied, and starts a snapshot of `image` when one is due. An image inside a metadata
        transaction lacks records before its end offset: it is not whole, and must not become a snapshot."""
        for batch in batches:
            self._bytes_since_snapshot += batch.size_bytes
            self._last_timestamp_ms = batch.timestamp_ms
        if is_whole and self._task is None and self._is_due():
            self._bytes_since_snapshot = 0
            self._last_snapshot_ms = self._wall_clock_ms()
            self._task = asyncio.create_task(self._take(image, self._last_timestamp_ms), name="metadata snapshot")

    def installed(self) -> None:
        """A snapshot of the leader has replaced the log."""
        self._bytes_since_snapshot = 0
        self._last_snapshot_ms = self._wall_clock_ms()

    async def finish(self) -> None:
        """Waits for a snapshot in progress."""
        if self._task is not None:
            await self._task

    def _is_due(self) -> bool:
        settings = self._settings
        if self._bytes_since_snapshot >= settings.max_bytes_between_snapshots:
            return True
        interval_ms = settings.max_snapshot_interval_ms
        return 0 < interval_ms <= self._wall_clock_ms() - self._last_snapshot_ms

    async def _take(self, image: ClusterImage, timestamp_ms: int) -> None:
        snapshot = OffsetAndEpoch(image.end_offset, image.epoch)
        membership = self._membership_at(image.end_offset)
        try:
            await asyncio.to_thread(self._write, snapshot, image, membership, timestamp_ms)
            self._report(SnapshotCreated(snapshot))
            start_offset = await asyncio.to_thread(self._remove_old)
            if start_offset is not None:
                self._report(LogStartMoved(start_offset))
        except DiskFull as error:
            logger.error("There is no space for the metadata snapshot at offset %d: %s", snapshot.offset, error)
        except (StorageError, DamagedFile):
            # The log itself is sound without this snapshot; a disk that is broken will show on the next append.
            logger.exception("Writing the metadata snapshot at offset %d failed", snapshot.offset)
        finally:
            self._task = None

    def _write(self, snapshot: OffsetAndEpoch, image: ClusterImage, membership: Membership, timestamp_ms: int) -> None:
        batches = encode_snapshot(
            image.to_records(),
            epoch=snapshot.epoch,
            now_ms=self._wall_clock_ms(),
            last_contained_log_timestamp_ms=timestamp_ms,
            voters=membership.voters,
            kraft_version=membership.kraft_version,
        )
        self._files.write(snapshot, batches)

    def _remove_old(self) -> int | None:
        """Removes what retention allows; returns the log's new start offset if it moved."""
        moved = None
        snapshots = self._files.list()
        while len(snapshots) > 1 and self._exceeds_retention(snapshots):
            oldest, following = snapshots[0], snapshots[1]
            start_offset = self._log.remove_before(following.offset)
            self._files.remove(oldest)
            moved = start_offset if start_offset > (moved or 0) else moved
            snapshots = snapshots[1:]
        return moved

    def _exceeds_retention(self, snapshots: Sequence[OffsetAndEpoch]) -> bool:
        total_bytes = self._log.size_bytes + sum(map(self._files.size_bytes, snapshots))
        if total_bytes > self._settings.max_retention_bytes:
            return True
        age_ms = self._wall_clock_ms() - self._files.read(snapshots[0]).last_contained_log_timestamp_ms
        return age_ms > self._settings.max_retention_ms
