"""Who votes, and the kraft.version, at every point of the log (KIP-853).

A replica uses the newest VotersRecord in its log, committed or not: a change of the voters takes effect when it is
written, and the new set decides whether it is committed. A log that is truncated returns to the previous set. The same
holds for the kraft.version.

Invariant: entries lie at growing offsets. The base is what held before all of them: the set of the newest snapshot, or
the one that the settings name (controller.quorum.voters, kraft.version 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ottla.raft.batch import ControlContent, KRaftVersionContent, VotersContent
from ottla.raft.voters import VoterSet


@dataclass(frozen=True, slots=True)
class Membership:
    """What the quorum has agreed on about itself."""

    voters: VoterSet
    kraft_version: int = 0


class VoterHistory:
    """The membership by log offset."""

    __slots__ = ("_base", "_entries")

    def __init__(self, voters: VoterSet, kraft_version: int = 0) -> None:
        """`voters` and `kraft_version` are the base: what holds before all records."""
        self._base = Membership(voters, kraft_version)
        # The offset of each record, and what holds from there on.
        self._entries: list[tuple[int, Membership]] = []

    @property
    def newest(self) -> Membership:
        return self._entries[-1][1] if self._entries else self._base

    def at(self, end_offset: int) -> Membership:
        """The membership by the records before an offset: what a snapshot ending there has to record."""
        known = (membership for offset, membership in reversed(self._entries) if offset < end_offset)
        return next(known, self._base)

    def append(self, base_offset: int, records: Iterable[ControlContent]) -> bool:
        """Apply the control records of a batch at an offset; True if they change the membership."""
        before = self.newest
        for offset, record in enumerate(records, base_offset):
            if isinstance(record, VotersContent):
                self._entries.append((offset, replace(self.newest, voters=record.voters)))
            elif isinstance(record, KRaftVersionContent):
                self._entries.append((offset, replace(self.newest, kraft_version=record.kraft_version)))
        return self.newest != before

    def truncate_to(self, end_offset: int) -> bool:
        """Forget what was written at an offset and later; True if that changes the membership."""
        before = self.newest
        while self._entries and self._entries[-1][0] >= end_offset:
            self._entries.pop()
        return self.newest != before

    def drop_before(self, offset: int) -> None:
        """Forget the records before this offset: a snapshot ends there, so none of them can be truncated any more."""
        self._base = self.at(offset)
        self._entries = [entry for entry in self._entries if entry[0] >= offset]
