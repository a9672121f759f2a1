"""Carries out what Readys ask of the disk, several at once, with one fsync.

Order within and across Readys is kept; nothing is reported before all of it is durable. See `ottla.raft.ready`.

When the disk is full, the persister waits for space and retries the step. Nothing is lost: an append that had written
some of its batches, because a segment ended between them, continues after those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.log_batches import encode_log_batch
from ottla.raft import Batch, Membership, OffsetAndEpoch, Ready
from ottla.storage.errors import DiskFull

T = TypeVar("T")

_SPACE_RETRY_S = 0.5


class Persister:
    def __init__(
        self,
        *,
        log: MetadataLogStore,
        state_file: QuorumStateFile,
        snapshots: SnapshotFiles,
        membership: Callable[[], Membership],
        wall_clock_ms: Callable[[], int],
        on_full: Callable[[DiskFull | None], None],
        syncs_log: bool = True,
    ) -> None:
        """`membership` returns the newest membership. `on_full` is called with each attempt that finds no space, and
        with None after each step that succeeded.

        Nobody counts on what an observer has, so it need not sync its log: what a power cut takes is fetched again.
        """
        self._log = log
        self._state_file = state_file
        self._snapshots = snapshots
        self._membership = membership
        self._wall_clock_ms = wall_clock_ms
        self._on_full = on_full
        self._syncs_log = syncs_log

    async def persist(self, readys: Sequence[Ready]) -> list[tuple[OffsetAndEpoch, Membership]]:
        """Makes the Readys durable; returns the snapshots that were installed, with the membership that they name."""
        election = next((ready.election for ready in reversed(readys) if ready.election), None)
        if election is not None:
            # Only the newest state matters: no message of the earlier Readys has left yet.
            now = self._membership()
            await self._with_space(
                partial(self._state_file.write, election, kraft_version=now.kraft_version, voters=now.voters)
            )
        installed: list[tuple[OffsetAndEpoch, Membership]] = []
        has_appended = False
        for ready in readys:
            if ready.snapshot_chunk is not None:
                chunk = ready.snapshot_chunk
                await self._with_space(partial(self._snapshots.write_part, chunk.snapshot, chunk.position, chunk.data))
            if ready.install_snapshot is not None:
                membership = await self._with_space(partial(self._install, ready.install_snapshot))
                installed.append((ready.install_snapshot, membership))
            if ready.truncate_to is not None:
                await self._with_space(partial(self._log.truncate_to, ready.truncate_to))
            if ready.append:
                await self._append(ready.append)
                has_appended = True
        if has_appended and self._syncs_log:
            await self._with_space(self._log.flush)
        return installed

    def _install(self, snapshot: OffsetAndEpoch) -> Membership:
        """Installs a snapshot. A crash in between leaves a log that does not reach the snapshot; the next start empties
        it."""
        contents = self._snapshots.finish_part(snapshot)
        self._log.truncate_fully_and_start_at(snapshot.offset)
        # The voters of a static quorum come from the settings.
        return Membership(contents.voters or self._membership().voters, contents.kraft_version)

    async def _append(self, batches: Sequence[Batch]) -> None:
        now_ms = self._wall_clock_ms()
        encoded = [(batch.base_offset, encode_log_batch(batch, now_ms)) for batch in batches]

        def append_the_rest() -> None:
            end_offset = self._log.end_offset
            self._log.append([data for base_offset, data in encoded if base_offset >= end_offset])

        try:
            self._log.append([data for _, data in encoded])
        except DiskFull:
            await self._with_space(append_the_rest)

    async def _with_space(self, step: Callable[[], T]) -> T:
        """Runs a step in a thread, and retries it until there is space."""
        while True:
            try:
                done = await asyncio.to_thread(step)
            except DiskFull as error:
                self._on_full(error)
                await asyncio.sleep(_SPACE_RETRY_S)
            else:
                self._on_full(None)
                return done
