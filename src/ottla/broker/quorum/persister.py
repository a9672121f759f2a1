"""Carries out what Readys ask of the disk, several at once, with one fsync.

Order within and across Readys is kept; nothing is reported before all of it is durable. See `ottla.raft.ready`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.metadata.log_batches import encode_log_batch
from ottla.raft import Ready, VoterSet


class Persister:
    def __init__(
        self,
        *,
        log: MetadataLogStore,
        state_file: QuorumStateFile,
        kraft_version: int,
        voters: VoterSet,
        wall_clock_ms: Callable[[], int],
    ) -> None:
        self._log = log
        self._state_file = state_file
        self._kraft_version = kraft_version
        self._voters = voters
        self._wall_clock_ms = wall_clock_ms

    async def persist(self, readys: Sequence[Ready]) -> None:
        election = next((ready.election for ready in reversed(readys) if ready.election), None)
        if election is not None:
            # Only the newest state counts: no message of the earlier ones has left yet.
            await asyncio.to_thread(
                self._state_file.write, election, kraft_version=self._kraft_version, voters=self._voters
            )
        has_appended = False
        for ready in readys:
            if ready.truncate_to is not None:
                await asyncio.to_thread(self._log.truncate_to, ready.truncate_to)
            if ready.append:
                now_ms = self._wall_clock_ms()
                self._log.append([encode_log_batch(batch, now_ms) for batch in ready.append])
                has_appended = True
        if has_appended:
            await asyncio.to_thread(self._log.flush)
