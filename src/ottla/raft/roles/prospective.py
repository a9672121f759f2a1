"""A voter asking whether it could win, before it disturbs anyone with a new epoch (pre-vote, KIP-996).

It keeps its epoch, its vote and the leader it knew, so a replica that was merely cut off returns without effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ottla.raft.roles.ballot import Ballot
from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class Prospective:
    NAME: ClassVar[str] = "prospective"

    epoch: int
    voted: ReplicaKey | None
    leader_id: int | None
    ballot: Ballot
    election_deadline_ms: int

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        if pre_vote:
            return log_is_current
        if self.voted is not None:
            return self.voted.matches(candidate)
        return self.leader_id is None and log_is_current
