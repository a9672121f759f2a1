"""The raft state machine with its disk and its clock.

Guarantees
- Every Ready is carried out as `ottla.raft.ready` demands, in order; those that come while the disk is busy share the
  next fsync.
- A message leaves after everything that it promises is durable.
- The loop waits for the disk only. Followers of the log are notified, and must not wait.

What survives a crash: the log, its snapshots and the quorum-state file. A failed write or fsync is final: nobody knows
then what the disk holds, so the shell stops and the node must restart. When the disk is full, the shell waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Protocol

from ottla.broker.quorum.persister import Persister
from ottla.broker.quorum.transport import Transport
from ottla.raft import (
    Accepted,
    Event,
    OffsetAndEpoch,
    Persisted,
    Propose,
    RaftNode,
    Ready,
    Resign,
    SnapshotInstalled,
    Start,
    Tick,
)
from ottla.raft.roles import Leader, Resigned
from ottla.storage.errors import DamagedFile, StorageError

logger = logging.getLogger("ottla.broker.quorum")


class RaftFollower(Protocol):
    """Is notified of what raft does. Its methods must not wait."""

    def role_changed(self) -> None:
        """The role or the epoch of the replica changed; called in the step that decides it."""

    def committed(self, end_offset: int) -> None:
        """The records before this offset are committed, and durable here."""

    def snapshot_installed(self, snapshot: OffsetAndEpoch) -> None:
        """A snapshot of the leader has replaced the log."""

    def raft_failed(self, error: Exception) -> None:
        """The shell has stopped."""


class RaftShell:
    def __init__(
        self,
        node: RaftNode,
        persister: Persister,
        transport: Transport,
        follower: RaftFollower,
        now_ms: Callable[[], int],
    ) -> None:
        """`now_ms` is monotonic."""
        self.node = node
        self._persister = persister
        self._transport = transport
        self._follower = follower
        self._now_ms = now_ms
        self._readys: list[Ready] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._handed_over: asyncio.Event | None = None

    def start(self) -> None:
        self.step(Start())
        self._task = asyncio.create_task(self._run(), name="raft")

    async def stop(self) -> None:
        """Stops at once; a write in progress is finished."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def resign(self, timeout_s: float) -> None:
        """Gives up the lead before a stop, if this replica has it. Returns once every other voter has been told, or
        another leads, or the time is up."""
        if not isinstance(self.node.role, Leader) or self.node.voters.majority == 1:
            return
        self._handed_over = asyncio.Event()
        self.step(Resign())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._handed_over.wait()

    def step(self, event: Event) -> Ready:
        """Gives an event to the state machine. The shell's task carries out the resulting Ready."""
        ready = self.node.step(event, self._now_ms())
        self._readys.append(ready)
        self._wake.set()
        if ready.role is not None:
            self._follower.role_changed()
        role = self.node.role
        if self._handed_over is not None and not (isinstance(role, Resigned) and role.unacknowledged_ids):
            self._handed_over.set()
        return ready

    def propose(self, values: tuple[bytes, ...]) -> Accepted | None:
        """Appends record values as one batch; None if this replica does not lead."""
        ready = self.step(Propose(values, None))
        return ready.accepted[0] if ready.accepted else None

    async def _run(self) -> None:
        try:
            while True:
                await self._wait_for_work()
                readys, self._readys = self._readys, []
                await self._carry_out(readys)
        except (StorageError, DamagedFile) as error:
            self._follower.raft_failed(error)
        except Exception as error:
            logger.exception("The metadata quorum has failed")
            self._follower.raft_failed(error)

    async def _wait_for_work(self) -> None:
        if self._readys:
            return
        self._wake.clear()
        now_ms = self._now_ms()
        deadline_ms = self.node.next_deadline_ms(now_ms)
        timeout = None if deadline_ms is None else max(deadline_ms - now_ms, 0) / 1000
        try:
            # Not wait_for, which forgets a cancellation that comes together with the event.
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            self.step(Tick())

    async def _carry_out(self, readys: list[Ready]) -> None:
        # Steps that follow while the disk works belong to the next round.
        epoch, end_offset = self.node.epoch, self.node.log.end_offset
        must_persist = any(ready.must_persist for ready in readys)
        if must_persist:
            for snapshot, membership in await self._persister.persist(readys):
                self.step(SnapshotInstalled(snapshot, membership))
                self._follower.snapshot_installed(snapshot)
        for ready in readys:
            if ready.messages:
                self._transport.send(ready.messages)
            if ready.high_watermark is not None:
                self._follower.committed(ready.high_watermark)
        if must_persist:
            self.step(Persisted(end_offset, epoch))
