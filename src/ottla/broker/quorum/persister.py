"""Carries out what Readys ask of the disk, several at once, with one fsync.

Order within and across Readys is kept; nothing is reported before all of it is durable. See `ottla.raft.ready`.

A disk without space is waited for: nothing is lost by that, and the step that found no space is tried again. An append
may have written some of its batches by then, if a segment ended between them; it goes on behind those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.metadata.log_batches import encode_log_batch
from ottla.raft import Batch, Ready, VoterSet
from ottla.storage.errors import DiskFull

_SPACE_RETRY_S = 0.5


class Persister:
    def __init__(
        self,
        *,
        log: MetadataLogStore,
        state_file: QuorumStateFile,
        kraft_version: int,
        voters: VoterSet,
        wall_clock_ms: Callable[[], int],
        on_full: Callable[[DiskFull | None], None],
    ) -> None:
        """`on_full` is told of each try that finds no space, and with None of each step that was taken."""
        self._log = log
        self._state_file = state_file
        self._kraft_version = kraft_version
        self._voters = voters
        self._wall_clock_ms = wall_clock_ms
        self._on_full = on_full

    async def persist(self, readys: Sequence[Ready]) -> None:
        election = next((ready.election for ready in reversed(readys) if ready.election), None)
        if election is not None:
            # Only the newest state counts: no message of the earlier ones has left yet.
            write = partial(self._state_file.write, election, kraft_version=self._kraft_version, voters=self._voters)
            await self._with_space(write)
        has_appended = False
        for ready in readys:
            if ready.truncate_to is not None:
                await self._with_space(partial(self._log.truncate_to, ready.truncate_to))
            if ready.append:
                await self._append(ready.append)
                has_appended = True
        if has_appended:
            await self._with_space(self._log.flush)

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

    async def _with_space(self, step: Callable[[], None]) -> None:
        """Takes a step in a thread, again and again until there is space for it."""
        while True:
            try:
                await asyncio.to_thread(step)
            except DiskFull as error:
                self._on_full(error)
                await asyncio.sleep(_SPACE_RETRY_S)
            else:
                self._on_full(None)
                return
