"""Builds images of the cluster from the committed log, and publishes them to readers.

Guarantees
- An image holds committed records only, and images only ever move forward.
- Each reader gets (delta, image) in order and at its own pace. A slow reader gets one delta with everything that has
  changed since its last one; a reader that hangs blocks neither raft nor the other readers.
- A reader's `image` is the newest that it has applied: a topic in it has its partitions on the broker, too.

A reader that fails ends the node: it would serve something other than what the log says. So does a log that cannot be
replayed. Nothing here survives a crash; the next start replays the log after the newest snapshot.

A snapshot that the leader sent instead of log records becomes an image, and a delta against the previous image: deleted
topics, lost brokers and removed settings are in it as if records had caused them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.offset_waiters import OffsetWaiters
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.broker.quorum.snapshotter import Snapshotter
from ottla.metadata.image import ClusterImage, ImageDelta, difference
from ottla.metadata.log_batches import MetadataBatch, read_metadata_batches
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.replay import Replay
from ottla.metadata.snapshot import snapshot_file_name
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.records import CorruptRecords
from ottla.raft import OffsetAndEpoch
from ottla.storage.errors import DamagedFile, StorageError

logger = logging.getLogger("ottla.broker.quorum")

Follow = Callable[[ImageDelta, ClusterImage], Awaitable[None]]

_REPLAY_READ_BYTES = 8 * 1024 * 1024


class ImageReader:
    """Follows the metadata at its own pace."""

    def __init__(self, image: ClusterImage, on_failure: Callable[[Exception], None]) -> None:
        # The newest image that was applied.
        self.image = image
        self._on_failure = on_failure
        self._waiters = OffsetWaiters(image.end_offset)
        # The newest published image, and what changed up to it. A delta is merged into only once this reader owns it.
        self._newest = image
        self._delta: ImageDelta | None = None
        self._owns_delta = False
        self._is_following = False
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, follow: Follow, name: str) -> None:
        """Awaits `follow(delta, image)` for every change since the reader was created. `follow` must not wait for a
        decision of the controller, which waits for it."""
        self._task = asyncio.create_task(self._run(follow, name), name=f"metadata of the {name}")

    async def stop(self) -> None:
        """Stops following; those who wait for the reader get an error."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._waiters.abandon(ApiError(ErrorCode.NOT_CONTROLLER, "The node is shutting down"))

    def until(self, end_offset: int) -> asyncio.Future[None]:
        """Done when `image` has reached this offset."""
        return self._waiters.until(end_offset)

    def offer(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Takes a change, to be applied when the reader gets to it."""
        self._newest = image
        if delta.is_empty and self._delta is None and not self._is_following:
            self._reach(image)
            return
        if self._delta is None:
            self._delta, self._owns_delta = delta, False
        else:
            if not self._owns_delta:
                own = ImageDelta()
                own.merge(self._delta)
                self._delta, self._owns_delta = own, True
            self._delta.merge(delta)
        self._wake.set()

    async def _run(self, follow: Follow, name: str) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                delta, image = self._delta, self._newest
                self._delta = None
                self._is_following = True
                if delta is not None and not delta.is_empty:
                    await follow(delta, image)
                self._is_following = False
                self._reach(image)
        except (StorageError, DamagedFile) as error:
            self._fail(error)
        except Exception as error:
            logger.exception("The %s cannot follow the metadata", name)
            self._fail(error)

    def _reach(self, image: ClusterImage) -> None:
        self.image = image
        self._waiters.reached(image.end_offset)

    def _fail(self, error: Exception) -> None:
        self._waiters.abandon(ApiError(ErrorCode.NOT_CONTROLLER, f"The node cannot go on: {error}"))
        self._on_failure(error)


class ImagePublisher:
    def __init__(
        self,
        *,
        image: ClusterImage,
        log: MetadataLogStore,
        snapshots: SnapshotFiles,
        snapshotter: Snapshotter,
        on_published: Callable[[ClusterImage], None],
        on_failure: Callable[[Exception], None],
    ) -> None:
        """`image` is that of the newest snapshot."""
        self._replay = Replay(image)
        self._log = log
        self._snapshots = snapshots
        self._snapshotter = snapshotter
        self._on_published = on_published
        self._on_failure = on_failure
        self._readers: list[ImageReader] = []
        self._committed_offset = image.end_offset
        self._installed: OffsetAndEpoch | None = None
        # Batches that this node wrote itself, by offset: they need not be read.
        self._written: dict[int, MetadataBatch] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def image(self) -> ClusterImage:
        """The newest committed image."""
        return self._replay.image

    @property
    def is_in_transaction(self) -> bool:
        """Whether the log up to the image ends inside a metadata transaction, of which the image shows nothing."""
        return self._replay.is_in_transaction

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="metadata images")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for reader in self._readers:
            await reader.stop()

    def reader(self) -> ImageReader:
        """A new reader, which starts at the newest image."""
        reader = ImageReader(self.image, self._on_failure)
        self._readers.append(reader)
        return reader

    # --- what happens to the log ----------------------------------------------------------------------------------

    def committed(self, end_offset: int) -> None:
        self._committed_offset = max(self._committed_offset, end_offset)
        self._wake.set()

    def snapshot_installed(self, snapshot: OffsetAndEpoch) -> None:
        self._written.clear()
        self._installed = snapshot
        self._wake.set()

    def written(self, batch: MetadataBatch) -> None:
        """Keeps a batch that this node has appended as the leader."""
        self._written[batch.base_offset] = batch

    def forget_written(self) -> None:
        """Leadership is lost: batches that were appended may be truncated."""
        self._written.clear()

    # --- the loop -------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while True:
                if self._installed is not None:
                    await self._load(self._installed)
                elif self._log.start_offset <= self.image.end_offset < self._committed_offset:
                    await self._apply()
                else:
                    # If the log begins after the image, the snapshot between the two will be reported.
                    self._wake.clear()
                    await self._wake.wait()
        except (StorageError, DamagedFile) as error:
            self._on_failure(error)
        except Exception as error:
            logger.exception("The metadata cannot be followed")
            self._on_failure(error)

    async def _apply(self) -> None:
        batches = self._written_batches() or await self._read_batches()
        if not batches:
            return
        try:
            delta = self._replay.apply(batches)
        except UnreadableMetadata as error:
            raise DamagedFile(self._snapshots.directory, f"the log cannot be replayed: {error}") from None
        self._snapshotter.applied(batches, self.image, is_whole=not self.is_in_transaction)
        self._publish(delta)

    def _written_batches(self) -> list[MetadataBatch]:
        batches: list[MetadataBatch] = []
        offset = self.image.end_offset
        while (batch := self._written.get(offset)) and batch.end_offset <= self._committed_offset:
            batches.append(self._written.pop(offset))
            offset = batch.end_offset
        return batches

    async def _read_batches(self) -> Sequence[MetadataBatch]:
        """The next committed batches; none if a snapshot replaced the log meanwhile."""
        start, end = self.image.end_offset, self._committed_offset

        def read() -> list[MetadataBatch]:
            try:
                return list(read_metadata_batches(self._log.read(start, end, _REPLAY_READ_BYTES)))
            except (UnreadableMetadata, CorruptRecords) as error:
                raise DamagedFile(
                    self._snapshots.directory, f"the log cannot be replayed from offset {start} on: {error}"
                ) from None

        try:
            batches = await asyncio.to_thread(read)
        except Exception:
            if self._log.start_offset > start:
                return ()
            raise
        if not batches and self._log.start_offset <= start:
            raise DamagedFile(
                self._snapshots.directory, f"the log has no batch at offset {start}, but {end} is committed"
            )
        return batches

    async def _load(self, snapshot: OffsetAndEpoch) -> None:
        before = self.image

        def load() -> tuple[ClusterImage, ImageDelta]:
            try:
                image = self._snapshots.read(snapshot).image(snapshot)
            except UnreadableMetadata as error:
                raise DamagedFile(self._snapshots.directory / snapshot_file_name(snapshot), str(error)) from None
            return image, difference(before, image)

        image, delta = await asyncio.to_thread(load)
        if self._installed == snapshot:
            self._installed = None
        self._replay = Replay(image)
        self._snapshotter.installed()
        self._publish(delta)

    def _publish(self, delta: ImageDelta) -> None:
        for reader in self._readers:
            reader.offer(delta, self.image)
        self._on_published(self.image)
