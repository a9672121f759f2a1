"""The metadata log of a node: raft with its disk, the images made from what is committed, and their snapshots.

Every node has one, whatever its roles. It has three parts, each of which waits only for its own disk: the raft shell,
the publisher of images with its readers, and the snapshotter. Events pass through here, from raft to the publisher and
to the watchers, such as the controller role.

When a part fails, `failed` is set and the node must restart: after a failed fsync nobody knows what the disk holds, and
a reader that cannot follow would serve something other than what the log says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from ottla.broker.host import Host
from ottla.broker.quorum.description import QuorumDescription, describe_quorum
from ottla.broker.quorum.image_publisher import ImagePublisher, ImageReader
from ottla.broker.quorum.offset_waiters import OffsetWaiters
from ottla.broker.quorum.opening import MetadataFiles, OpenedQuorum, open_quorum
from ottla.broker.quorum.persister import Persister
from ottla.broker.quorum.raft_shell import RaftShell
from ottla.broker.quorum.settings import MetadataQuorumSettings
from ottla.broker.quorum.snapshot_files import SnapshotPiece
from ottla.broker.quorum.snapshotter import Snapshotter
from ottla.broker.quorum.transport import Transport, UnusableQuorum
from ottla.client.addresses import Address
from ottla.metadata.controller.features import unsupported_level
from ottla.metadata.image import ClusterImage
from ottla.metadata.log_batches import MetadataBatch
from ottla.metadata.record_serde import encode_record
from ottla.protocol.compression import Buffer
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.schema import Message
from ottla.raft import (
    Membership,
    OffsetAndEpoch,
    RaftNode,
    ReplicaKey,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    VoterSet,
)
from ottla.raft.roles import Leader
from ottla.storage.errors import DiskFull, StorageError

logger = logging.getLogger("ottla.broker.quorum")

# Kafka's bound: a follower fetches a batch in one piece, and votes wait meanwhile. Creating as many partitions as one
# request may takes about a fifth of it; what follows from the state of a broker is split into batches.
MAX_BATCH_BYTES = 8 * 1024 * 1024


class BatchTooLarge(ApiError):
    """Records that were to be written together are more than a batch may hold. Nothing was written."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(
            ErrorCode.POLICY_VIOLATION,
            f"The operation needs {size_bytes} bytes of metadata, at most {MAX_BATCH_BYTES} can be written together; "
            "split it into smaller requests",
        )


class LogWatcher(Protocol):
    """Is notified at once of what happens to the metadata log. Its methods must not wait."""

    def role_changed(self) -> None:
        """This node began or ceased to lead, or learnt of another leader."""

    def committed(self, end_offset: int) -> None: ...

    def published(self, image: ClusterImage) -> None: ...

    def space_changed(self, full: DiskFull | None) -> None:
        """The disk had no space for a write to the log; None after each write for which it had."""

    def log_failed(self, error: Exception) -> None: ...


class MetadataLog:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        static_voters: VoterSet | None,
        files: MetadataFiles,
        host: Host,
        transport: Transport,
        settings: MetadataQuorumSettings | None = None,
        can_vote: bool = True,
    ) -> None:
        """`static_voters` are those of controller.quorum.voters, None when formatting named the voters. A node without
        the controller role cannot vote; it only observes."""
        self.local = local
        self.directory = files.directory
        self.settings = settings or MetadataQuorumSettings()
        self.bootstrap: bytes | None = None
        self.committed_offset = 0
        self.last_append_ms = 0
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        # Set when the leader changes; then there is a new one for the next change.
        self.leader_change = asyncio.Event()
        # Set when a controller's address refuses a connection.
        self._refused = asyncio.Event()
        self._static_voters = static_voters
        self._files = files
        self._host = host
        self._transport = transport
        self._can_vote = can_vote
        # The newest offset that was published, and what a leader of this life had committed when it was first heard of.
        self._published_waiters = OffsetWaiters(0)
        self._first_caught_up_offset: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._watchers: list[LogWatcher] = []
        self._is_open = False
        # Waits until a log that is not whole has caught up.
        self._catching_up: asyncio.Task[None] | None = None
        # Node and epoch, as the log of the process was told.
        self._known_leader: tuple[int | None, int] | None = None

    # --- life -----------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Reads what the disk holds; UnusableQuorum or DamagedFile if this node must not run with it."""
        can_ask = bool(self._transport.bootstrap_ids)
        opened = await asyncio.to_thread(open_quorum, self._files, self.local, self._static_voters, can_ask=can_ask)
        self._log = opened.log
        self._snapshots = opened.snapshots
        try:
            self._transport.check(self.local, opened.history.newest.voters)
        except Exception:
            await asyncio.to_thread(self._log.abandon)
            raise
        self.bootstrap = opened.bootstrap
        self.committed_offset = opened.image.end_offset
        self._published_waiters.reached(opened.image.end_offset)
        self._assemble(opened)
        self._transport.attach(self)
        named = None if self._static_voters is None else self._static_voters.ids
        if named is not None and set(named) != set(self.voters.ids):
            # As in Kafka, which says nothing.
            logger.warning(
                "controller.quorum.voters names %s and is ignored: the metadata log names the voters %s. Remove the "
                "setting, or correct it; it does not change the voters of a formatted quorum",
                ", ".join(map(str, named)),
                ", ".join(map(str, self.voters.ids)),
            )
        self._is_open = True
        warning = unsupported_level(opened.image)
        if warning:
            logger.warning("%s; what depends on it is not served", warning)

    def _assemble(self, opened: OpenedQuorum) -> None:
        node = RaftNode(
            local=self.local,
            history=opened.history,
            log=opened.log_view,
            election=opened.election,
            jitter=self._host.random_below,
            settings=self.settings.raft,
            can_vote=self._can_vote,
            is_log_whole=opened.is_log_whole,
            bootstrap_ids=self._transport.bootstrap_ids,
        )
        persister = Persister(
            log=opened.log,
            state_file=opened.state_file,
            snapshots=opened.snapshots,
            membership=lambda: Membership(node.voters, node.kraft_version),
            wall_clock_ms=self._host.now_ms,
            on_full=self._space_changed,
            syncs_log=self._can_vote,
        )
        self._shell = RaftShell(node, persister, self._transport, self, self.monotonic_ms)
        snapshot_ms = opened.snapshot_timestamp_ms
        self.snapshotter = Snapshotter(
            files=opened.snapshots,
            log=opened.log,
            settings=self.settings,
            membership_at=node.membership_at,
            wall_clock_ms=self._host.now_ms,
            last_snapshot_ms=self._host.now_ms() if snapshot_ms is None else snapshot_ms,
            report=self._shell.step,
        )
        self._publisher = ImagePublisher(
            image=opened.image,
            log=opened.log,
            snapshots=opened.snapshots,
            snapshotter=self.snapshotter,
            on_published=self._published,
            on_failure=self.fail,
        )

    def start(self) -> None:
        """Starts to take part in the quorum, and to publish images."""
        self._publisher.start()
        self._shell.start()
        if not self._shell.node.is_log_whole:
            logger.info("%s holds no metadata log yet: this node does not vote before it has caught up", self.directory)
            self._catching_up = asyncio.get_running_loop().create_task(self._note_whole_log())

    async def _note_whole_log(self) -> None:
        await self._first_caught_up_offset
        try:
            await asyncio.to_thread(self._files.log_is_whole)
        except StorageError as error:
            # It has to catch up again after the next start, which is always safe.
            logger.error("That the metadata log is whole is not recorded: %s", error)

    async def until_caught_up(self) -> None:
        """Returns when the image has everything that the leader of the quorum had committed when this node first heard
        from it; raises the error of a log that failed."""
        caught_up = asyncio.ensure_future(self._catch_up())
        try:
            await asyncio.wait((caught_up, self.failed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            caught_up.cancel()
        if self.failed.done():
            raise self.failed.result()

    async def _catch_up(self) -> None:
        await self._published_waiters.until(await asyncio.shield(self._first_caught_up_offset))

    async def until_undecidable(self) -> str:
        """Returns when nothing can be decided any more, as far as this node can tell, and says why: its log has failed,
        or so many voters are gone that the others are no majority. A voter that is merely silent is not gone."""
        while not (self.failed.done() or self._majority_is_gone):
            self._refused.clear()
            refused = asyncio.ensure_future(self._refused.wait())
            try:
                await asyncio.wait((refused, self.failed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                refused.cancel()
        if self.failed.done():
            return f"the metadata log has failed: {self.failed.result()}"
        return f"nobody listens at controllers {', '.join(map(str, self._gone_voters))}, the rest is no majority"

    async def resign(self) -> None:
        """Hands the lead over to another voter before a stop, if this node has it and there is one."""
        if self._is_open and not self.failed.done():
            await self._shell.resign(self.settings.raft.request_timeout_ms / 1000)

    async def stop(self) -> None:
        """Closes the log, if it is open; records that are not committed yet may or may not survive."""
        if not self._is_open:
            return
        if self._catching_up is not None:
            self._catching_up.cancel()
        await self._shell.stop()
        await self._transport.stop()
        await self._publisher.stop()
        await self.snapshotter.finish()
        try:
            await asyncio.to_thread(self._log.abandon if self.failed.done() else self._log.close)
        except DiskFull as error:
            # The next start reads the whole log anyway.
            logger.error("The metadata log is not closed cleanly: %s", error)
            self._log.abandon()

    # --- what it tells --------------------------------------------------------------------------------------------

    @property
    def image(self) -> ClusterImage:
        """The newest committed image. A broker uses the image that its own reader has applied."""
        return self._publisher.image

    @property
    def is_in_transaction(self) -> bool:
        return self._publisher.is_in_transaction

    @property
    def end_offset(self) -> int:
        return self._shell.node.log.end_offset

    @property
    def leader_id(self) -> int | None:
        return self._shell.node.leader_id

    @property
    def leader_address(self) -> Address | None:
        """Where the leader listens as a controller; None if there is none, or nobody knows."""
        leader_id = self.leader_id
        return None if leader_id is None else self._transport.address_of(leader_id)

    @property
    def bootstrap_addresses(self) -> list[Address | None]:
        """Whom a node asks that knows no voter yet."""
        return [self._transport.address_of(node_id) for node_id in self._transport.bootstrap_ids]

    @property
    def leader_epoch(self) -> int | None:
        """The epoch that this node leads, None if it does not."""
        role = self._shell.node.role
        return role.epoch if isinstance(role, Leader) else None

    @property
    def voters(self) -> VoterSet:
        """The voters of the newest record in the log, committed or not."""
        return self._shell.node.voters

    @property
    def _gone_voters(self) -> list[int]:
        return [key.id for key in self.voters.others(self.local) if self._transport.is_gone(key.id)]

    @property
    def _majority_is_gone(self) -> bool:
        gone_count = len(self._gone_voters)
        return gone_count > 0 and len(self.voters.ids) - gone_count < self.voters.majority

    @property
    def kraft_version(self) -> int:
        return self._shell.node.kraft_version

    def describe(self) -> QuorumDescription:
        return describe_quorum(
            self._shell.node, local=self.local, monotonic_ms=self.monotonic_ms(), wall_ms=self._host.now_ms()
        )

    def reader(self) -> ImageReader:
        """A reader of the images, from the newest one on."""
        return self._publisher.reader()

    def watch(self, watcher: LogWatcher) -> None:
        self._watchers.append(watcher)

    async def respond(self, request: Message, api_version: int) -> Message:
        """Answers a request of another replica of the log, as Kafka's messages have it."""
        return await self._transport.respond(request, api_version)

    def receive(self, event: RequestReceived | ResponseReceived | RequestFailed) -> None:
        """Takes a message of another node, or the failure of a request, from the transport. If it breaks an invariant
        of raft, the node must stop before that can spread."""
        try:
            self._shell.step(event)
            self._note_progress()
            if isinstance(event, RequestFailed) and event.is_refused:
                self._refused.set()
            named_id = event.response.leader_id if isinstance(event, ResponseReceived) else None
            if not self._can_vote and self.local.id in (named_id, *self.voters.ids):
                self.fail(UnusableQuorum(f"node.id {self.local.id} is that of a controller: give this broker another"))
        except Exception as error:
            logger.exception("The metadata quorum has failed")
            self.fail(error)

    def met_foreign_cluster(self, whom: str, cluster_id: str) -> None:
        """An observer that has not found its cluster yet was sent to another one, and must not wait there for ever. A
        voter goes on: it may be the other one that is wrong."""
        if not self._can_vote and not self._first_caught_up_offset.done():
            self.fail(
                UnusableQuorum(
                    f"{whom} belongs to another cluster than this node, whose cluster.id is {cluster_id}: correct "
                    "controller.quorum.bootstrap.servers or controller.quorum.voters, or format the storage with the "
                    "cluster's own id"
                )
            )

    async def read_records(self, from_offset: int, end_offset: int, max_bytes: int) -> Buffer:
        """Whole batches from the one that begins at `from_offset`, at least one, none beyond `end_offset`."""
        return await asyncio.to_thread(self._log.read, from_offset, end_offset, max_bytes)

    async def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> SnapshotPiece | None:
        """A piece of a snapshot file; None if there is no such file."""
        return await asyncio.to_thread(self._snapshots.read_piece, snapshot, position, max_bytes)

    # --- what is written to it ------------------------------------------------------------------------------------

    def append(self, records: Sequence[Message]) -> int:
        """Appends records as one batch, to be committed whole or not at all; returns its offset. BatchTooLarge if it
        would be larger than MAX_BATCH_BYTES, NOT_CONTROLLER if this node does not lead."""
        values = tuple(map(encode_record, records))
        size_bytes = sum(map(len, values))
        if size_bytes > MAX_BATCH_BYTES:
            raise BatchTooLarge(size_bytes)
        accepted = self._shell.propose(values)
        # Leadership may end in the step that appends. Then the batch may be truncated, and nobody may rely on it.
        if accepted is None or accepted.epoch != self.leader_epoch:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller")
        self.last_append_ms = self.monotonic_ms()
        batch = MetadataBatch(
            accepted.base_offset,
            accepted.end_offset,
            accepted.epoch,
            self._host.now_ms(),
            size_bytes,
            control=(),
            records=records,
        )
        self._publisher.written(batch)
        return accepted.base_offset

    def monotonic_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)

    # --- what raft and the publisher report -----------------------------------------------------------------------

    def _note_progress(self) -> None:
        if not self._first_caught_up_offset.done() and self._shell.node.is_caught_up:
            self._first_caught_up_offset.set_result(self._shell.node.high_watermark)

    def role_changed(self) -> None:
        if self.leader_epoch is None:
            self._publisher.forget_written()
        changed, self.leader_change = self.leader_change, asyncio.Event()
        changed.set()
        leader = self.leader_id, self._shell.node.epoch
        if leader[0] is not None and leader != self._known_leader:
            self._known_leader = leader
            logger.info("Node %d leads the metadata quorum in epoch %d", *leader)
        for watcher in self._watchers:
            watcher.role_changed()

    def committed(self, end_offset: int) -> None:
        self.committed_offset = max(self.committed_offset, end_offset)
        self._publisher.committed(self.committed_offset)
        self._note_progress()
        for watcher in self._watchers:
            watcher.committed(self.committed_offset)

    def snapshot_installed(self, snapshot: OffsetAndEpoch) -> None:
        self._publisher.snapshot_installed(snapshot)

    def raft_failed(self, error: Exception) -> None:
        self.fail(error)

    def _published(self, image: ClusterImage) -> None:
        self._published_waiters.reached(image.end_offset)
        for watcher in self._watchers:
            watcher.published(image)

    def _space_changed(self, full: DiskFull | None) -> None:
        for watcher in self._watchers:
            watcher.space_changed(full)

    def fail(self, error: Exception) -> None:
        """Reports an error with which the node cannot continue."""
        if not self.failed.done():
            self.failed.set_result(error)
        for watcher in self._watchers:
            watcher.log_failed(error)
