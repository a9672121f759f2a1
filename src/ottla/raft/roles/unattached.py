"""A replica that knows the epoch but follows nobody: it waits to hear of a leader, or to stand for election itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class Unattached:
    NAME: ClassVar[str] = "unattached"

    epoch: int
    voted: ReplicaKey | None
    leader_id: int | None
    election_deadline_ms: int

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        if pre_vote:
            return log_is_current
        if self.voted is not None:
            return self.voted.matches(candidate)
        return self.leader_id is None and log_is_current
