"""A replica that fetches from a known leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.raft.offsets import OffsetAndEpoch
from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class SnapshotDownload:
    snapshot: OffsetAndEpoch
    position: int = 0


@dataclass(slots=True)
class Follower:
    NAME: ClassVar[str] = "follower"

    epoch: int
    leader_id: int
    voted: ReplicaKey | None
    fetch_deadline_ms: int
    has_fetched: bool = False
    download: SnapshotDownload | None = None

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        """With a leader at work there is nothing to elect. A pre-vote is granted only while that leader never answered
        us, because then we cannot tell whether it lives."""
        if pre_vote:
            return not self.has_fetched and log_is_current
        return self.voted is not None and self.voted.matches(candidate)
