"""A replica that fetches from a known leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class SnapshotDownload:
    """How far a follower has fetched the snapshot that replaces its log."""

    snapshot: OffsetAndEpoch
    position: int = 0


@dataclass(slots=True)
class Follower:
    """Fetches from the leader until it is silent for too long."""

    NAME: ClassVar[str] = "follower"

    epoch: int
    leader_id: int
    voted: ReplicaKey | None
    fetch_deadline_ms: int
    has_fetched: bool = False
    # As the leader told it last; None before its first answer.
    leader_high_watermark: int | None = None
    download: SnapshotDownload | None = None

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        """Nothing is to be elected while a leader is at work. A pre-vote is granted only as long as that leader has
        never answered us, because then we cannot tell whether it lives."""
        if pre_vote:
            return not self.has_fetched and log_is_current
        return self.voted is not None and self.voted.matches(candidate)
