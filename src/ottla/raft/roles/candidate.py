"""A voter that has started a new epoch, voted for itself and asks the others for their vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.raft.roles.ballot import Ballot
from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class Candidate:
    NAME: ClassVar[str] = "candidate"

    epoch: int
    local: ReplicaKey
    ballot: Ballot
    election_deadline_ms: int
    is_backing_off: bool = False

    @property
    def leader_id(self) -> None:
        return None

    @property
    def voted(self) -> ReplicaKey:
        return self.local

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        return log_is_current if pre_vote else self.local.matches(candidate)
