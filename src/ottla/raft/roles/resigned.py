"""A former leader that will not lead this epoch again.

It told the others (EndQuorumEpoch), or it could not reach them; it stays out of the way until an election timeout
has passed without news of a successor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ottla.raft.voters import ReplicaKey


@dataclass(slots=True)
class Resigned:
    NAME: ClassVar[str] = "resigned"

    epoch: int
    local: ReplicaKey
    election_deadline_ms: int
    preferred_candidates: tuple[ReplicaKey, ...] = ()
    unacknowledged_ids: set[int] = field(default_factory=set)

    @property
    def leader_id(self) -> int:
        return self.local.id

    @property
    def voted(self) -> None:
        return None

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        del candidate
        return pre_vote and log_is_current
