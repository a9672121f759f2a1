"""The metadata quorum of a node: the raft state machine with its disk, and the image that brokers read.

Guarantees
- `image` holds committed records only, and only ever moves forward.
- `submit` returns after its records are durable on a majority and `image` contains them.
- Concurrent submissions share an append and an fsync.

What survives a crash: the log and its snapshots, and the quorum-state file. A failed write or fsync is final
(`failed` is set and every submission fails): after it nobody knows what the disk holds, so the node must restart. A
disk without space is waited for; meanwhile submissions fail, those under way as after a timeout: they may yet be done.

The loop: drain the Readys, persist them (fsync in a thread), apply what is committed, publish, tell the state machine
`Persisted`. Until there is a transport between nodes, the quorum has one voter: this node.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from ottla.broker.host import Host
from ottla.broker.quorum.active_controller import ActiveController
from ottla.broker.quorum.description import QuorumDescription, describe_quorum
from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.opening import open_quorum
from ottla.broker.quorum.persister import Persister
from ottla.broker.quorum.settings import MetadataQuorumSettings
from ottla.broker.quorum.snapshotter import Snapshotter
from ottla.metadata.controller.features import finalized_levels, unsupported_level
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.metadata.log_batches import MetadataBatch, read_metadata_batches
from ottla.metadata.record_serde import UnreadableMetadata, encode_record
from ottla.metadata.replay import Replay
from ottla.metadata.snapshot import BOOTSTRAP_FILE, read_snapshot
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.abort_transaction_record import AbortTransactionRecord
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.records import CorruptRecords
from ottla.raft import (
    Event,
    Persisted,
    Propose,
    RaftNode,
    Ready,
    ReplicaKey,
    Start,
    Tick,
    VoterHistory,
    VoterSet,
)
from ottla.raft.roles import Leader
from ottla.storage.errors import DamagedFile, DiskFull, StorageError
from ottla.storage.file_system import FileSystem

T = TypeVar("T")
Subscriber = Callable[[ImageDelta, ClusterImage], Awaitable[None]]

logger = logging.getLogger("ottla.broker.quorum")

_REPLAY_READ_BYTES = 8 * 1024 * 1024


class MetadataQuorum:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        static_voters: VoterSet | None,
        directory: Path,
        file_system: FileSystem,
        open_log: Callable[[int], MetadataLogStore],
        host: Host,
        settings: MetadataQuorumSettings | None = None,
    ) -> None:
        """`directory` is `__cluster_metadata-0`; `bootstrap.checkpoint` lies beside it. `static_voters` are those of
        controller.quorum.voters, None when formatting named the voters. `open_log` gets the offset from which on the
        log is needed, and runs in a thread."""
        self._local = local
        self._static_voters = static_voters
        self._directory = directory
        self._file_system = file_system
        self._open_log = open_log
        self._jitter = host.random_below
        self._settings = settings or MetadataQuorumSettings()
        self._wall_clock_ms = host.now_ms
        self._subscribers: list[Subscriber] = []
        self._readys: list[Ready] = []
        self._wake = asyncio.Event()
        self._controller: ActiveController | None = None
        self._became_active = asyncio.Event()
        self._last_write_ms = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._full: DiskFull | None = None
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    # --- what handlers use ----------------------------------------------------------------------------------------

    @property
    def image(self) -> ClusterImage:
        """The newest committed image that every subscriber has followed."""
        return self._image

    @property
    def kraft_version(self) -> int:
        return self._kraft_version

    @property
    def leader_id(self) -> int | None:
        return self._node.leader_id

    @property
    def is_active(self) -> bool:
        """Whether this node is the active controller and can decide."""
        return self._controller is not None

    def finalized_features(self) -> tuple[dict[str, int], int]:
        """Feature levels in force and the epoch (the newest offset) they are known at."""
        return finalized_levels(self.image, self._kraft_version), self.image.end_offset - 1

    def subscribe(self, callback: Subscriber) -> None:
        """`callback(delta, image)` after each change, in order, awaited before `image` is the new one and submissions
        are answered: whoever sees a topic in the image finds its partitions, too.
        A subscriber learns nothing of the past: read `image` first. It must not await a submission of its own, which
        would wait for the subscriber."""
        self._subscribers.append(callback)

    async def submit(self, decide: Callable[[ClusterImage, int], Decision[T]]) -> T:
        """Decide on the image with all earlier decisions applied; the response once the outcome is committed and in
        `image`. The image's `end_offset` is the offset that the first record of the decision gets."""
        controller = self._controller
        if controller is None or self._is_stopping:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller")
        if self._full is not None:
            raise _no_space(self._full)
        response, end_offset = controller.decide(decide, self._wall_clock_ms())
        await controller.until(end_offset)
        return response

    def describe(self) -> QuorumDescription:
        return describe_quorum(
            self._node, local=self._local, monotonic_ms=self._monotonic_ms(), wall_ms=self._wall_clock_ms()
        )

    # --- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Replay, elect, and begin the cluster if the log is new; returns when this node can decide."""
        await self._open()
        warning = unsupported_level(self._replay.image)
        if warning:
            logger.warning("%s; what depends on it is not served", warning)
        self._step(Start())
        self._tasks = [asyncio.create_task(self._run(), name="metadata quorum")]
        active = asyncio.create_task(self._until_active())
        await asyncio.wait((active, self.failed), return_when=asyncio.FIRST_COMPLETED)
        active.cancel()
        if self.failed.done():
            await self._close()
            raise self.failed.result()
        self._tasks.append(asyncio.create_task(self._write_no_ops(), name="metadata no-ops"))

    async def _until_active(self) -> None:
        await self._became_active.wait()
        if self._controller is not None:
            await self._controller.until(self._controller.pending.end_offset)

    async def stop(self) -> None:
        """Finish what was submitted, then release the log."""
        self._is_stopping = True
        controller = self._controller
        if controller is not None and self._full is None:
            finished = controller.until(controller.pending.end_offset)
            await asyncio.wait((finished, self.failed), return_when=asyncio.FIRST_COMPLETED)
            # What fails here was reported to those who submitted it.
            _ = finished.done() and finished.exception()
        await self._close()

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self._controller is not None:
            self._controller.abandon(ApiError(ErrorCode.NOT_CONTROLLER, "The controller is shutting down"))
            self._controller = None
        await self._snapshotter.finish()
        try:
            await asyncio.to_thread(self._log.abandon if self.failed.done() else self._log.close)
        except DiskFull as error:
            # The log is read from its beginning at every start.
            logger.error("The metadata log is not closed cleanly: %s", error)
            self._log.abandon()

    async def _open(self) -> None:
        opened = await asyncio.to_thread(
            open_quorum,
            local=self._local,
            static_voters=self._static_voters,
            directory=self._directory,
            file_system=self._file_system,
            open_log=self._open_log,
        )
        self._log = opened.log
        self._kraft_version = opened.kraft_version
        self._replay = Replay(opened.image)
        self._image = opened.image
        self._committed_offset = opened.image.end_offset
        self._node = RaftNode(
            local=self._local,
            history=VoterHistory(opened.voters, opened.kraft_version),
            log=opened.log_view,
            election=opened.election,
            jitter=self._jitter,
            settings=self._settings.raft,
        )
        self._persister = Persister(
            log=opened.log,
            state_file=opened.state_file,
            kraft_version=opened.kraft_version,
            voters=opened.voters,
            wall_clock_ms=self._wall_clock_ms,
            on_full=self._note_space,
        )
        last_snapshot_ms = opened.snapshot_timestamp_ms
        self._snapshotter = Snapshotter(
            files=opened.snapshots,
            log=opened.log,
            settings=self._settings,
            voters=opened.voters,
            kraft_version=opened.kraft_version,
            wall_clock_ms=self._wall_clock_ms,
            last_snapshot_ms=self._wall_clock_ms() if last_snapshot_ms is None else last_snapshot_ms,
            report=self._step,
        )

    # --- the loop --------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while True:
                await self._wait_for_work()
                readys, self._readys = self._readys, []
                epoch, end_offset = self._node.epoch, self._node.log.end_offset
                must_persist = any(ready.must_persist for ready in readys)
                if must_persist:
                    await self._persister.persist(readys)
                for ready in readys:
                    self._committed_offset = max(self._committed_offset, ready.high_watermark or 0)
                await self._apply_committed()
                self._activate()
                if must_persist:
                    self._step(Persisted(end_offset, epoch))
        except (StorageError, DamagedFile) as error:
            self._fail(error)
        except Exception as error:
            logger.exception("The metadata quorum cannot go on")
            self._fail(error)

    async def _wait_for_work(self) -> None:
        if self._readys:
            return
        self._wake.clear()
        now_ms = self._monotonic_ms()
        deadline_ms = self._node.next_deadline_ms(now_ms)
        timeout = None if deadline_ms is None else max(deadline_ms - now_ms, 0) / 1000
        try:
            await asyncio.wait_for(self._wake.wait(), timeout)
        except TimeoutError:
            self._step(Tick())

    def _step(self, event: Event) -> Ready:
        ready = self._node.step(event, self._monotonic_ms())
        self._readys.append(ready)
        self._wake.set()
        return ready

    def _propose(self, values: tuple[bytes, ...]) -> int:
        ready = self._step(Propose(values, None))
        if not ready.accepted:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller")
        self._last_write_ms = self._monotonic_ms()
        return ready.accepted[0].base_offset

    async def _apply_committed(self) -> None:
        """Bring the image up to the high watermark of the Readys that are durable, and publish each step."""
        while self.image.end_offset < self._committed_offset:
            batches = self._proposed_batches() or await self._read_batches()
            try:
                delta = self._replay.apply(batches)
            except UnreadableMetadata as error:
                raise DamagedFile(self._directory, f"the log cannot be replayed: {error}") from None
            image = self._replay.image
            self._snapshotter.applied(batches, image, is_whole=not self._replay.is_in_transaction)
            if not delta.is_empty:
                for subscriber in self._subscribers:
                    await subscriber(delta, image)
            self._image = image
            if self._controller is not None:
                self._controller.reached(self.image.end_offset)

    def _proposed_batches(self) -> list[MetadataBatch]:
        batches: list[MetadataBatch] = []
        if self._controller is not None:
            offset = self.image.end_offset
            while (batch := self._controller.unapplied.get(offset)) and batch.end_offset <= self._committed_offset:
                batches.append(self._controller.unapplied.pop(offset))
                offset = batch.end_offset
        return batches

    async def _read_batches(self) -> list[MetadataBatch]:
        start, end = self.image.end_offset, self._committed_offset

        def read() -> list[MetadataBatch]:
            try:
                return list(read_metadata_batches(self._log.read(start, end, _REPLAY_READ_BYTES)))
            except (UnreadableMetadata, CorruptRecords) as error:
                raise DamagedFile(
                    self._directory, f"the log cannot be replayed from offset {start} on: {error}"
                ) from None

        return await asyncio.to_thread(read)

    def _activate(self) -> None:
        """Once the leader's whole log is committed and applied, it may decide."""
        role = self._node.role
        is_caught_up = self.image.end_offset == self._node.log.end_offset
        if self._controller is not None or not isinstance(role, Leader) or not is_caught_up:
            return
        if self._replay.is_in_transaction:
            # A former controller died inside a metadata transaction; nothing of it may become visible.
            self._propose((encode_record(AbortTransactionRecord(reason="the controller changed")),))
            return
        self._controller = ActiveController(self.image, role.epoch, self._propose)
        logger.info("Active controller in epoch %d from offset %d", role.epoch, self.image.end_offset)
        if self.image.metadata_version == 0:
            self._begin_cluster(self._controller)
        self._became_active.set()

    def _begin_cluster(self, controller: ActiveController) -> None:
        path = self._directory.parent / BOOTSTRAP_FILE
        data = self._file_system.read_file(path)
        if data is None:
            raise DamagedFile(path, "it is missing, and a new cluster begins with it; format the storage anew")
        try:
            records = read_snapshot(data).records
        except UnreadableMetadata as error:
            raise DamagedFile(path, f"{error}; a new cluster begins with it, format the storage anew") from None
        controller.write(records, self._wall_clock_ms())

    async def _write_no_ops(self) -> None:
        """A record now and then shows followers and operators that the quorum commits."""
        interval_ms = self._settings.max_idle_interval_ms
        while interval_ms > 0:
            idle_ms = self._monotonic_ms() - self._last_write_ms
            if idle_ms < interval_ms:
                await asyncio.sleep((interval_ms - idle_ms) / 1000)
                continue
            if self._controller is not None and not self._is_stopping and self._full is None:
                self._controller.write((NoOpRecord(),), self._wall_clock_ms())
            self._last_write_ms = self._monotonic_ms()

    def _note_space(self, full: DiskFull | None) -> None:
        """The disk has no space for what was decided, or has again. Decisions wait for it, their clients do not."""
        if full is not None and not self._became_active.is_set():
            # A start says so and ends, rather than to wait for somebody to notice.
            self._fail(full)
        elif full is not None and self._full is None:
            logger.error("Metadata cannot be written until there is space: %s", full)
            if self._controller is not None:
                self._controller.abandon(_no_space(full))
        elif full is None and self._full is not None:
            logger.warning("Metadata can be written again")
        self._full = full

    def _fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_result(error)
        if self._controller is not None:
            self._controller.abandon(ApiError(ErrorCode.NOT_CONTROLLER, f"The metadata log failed: {error}"))
            self._controller = None

    def _monotonic_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)


def _no_space(full: DiskFull) -> ApiError:
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The metadata log has no space: {full}")
