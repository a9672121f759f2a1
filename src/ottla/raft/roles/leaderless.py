"""The roles of a replica that has no leader: it waits, stands for election, or has just given up the lead.

Each says which candidate would get its vote. A replica votes once in an epoch. A pre-vote binds nobody, so every
replica here grants it to whoever has a log that is current.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ottla.raft.voters import ReplicaKey, VoterSet


class Ballot:
    """Counts the votes of one election, or of the round of pre-votes before it."""

    __slots__ = ("_answers", "_voters")

    def __init__(self, voters: VoterSet, own_id: int) -> None:
        self._voters = voters
        self._answers: dict[int, bool] = {own_id: True}

    def record(self, voter_id: int, *, granted: bool) -> None:
        """The first answer of a voter stands; a repeated request may be answered twice."""
        if voter_id in self._voters.ids:
            self._answers.setdefault(voter_id, granted)

    @property
    def granting_ids(self) -> tuple[int, ...]:
        return tuple(voter_id for voter_id in self._voters.ids if self._answers.get(voter_id))

    @property
    def unanswered_ids(self) -> tuple[int, ...]:
        return tuple(voter_id for voter_id in self._voters.ids if voter_id not in self._answers)

    @property
    def is_won(self) -> bool:
        return len(self.granting_ids) >= self._voters.majority

    @property
    def is_lost(self) -> bool:
        return len(self.granting_ids) + len(self.unanswered_ids) < self._voters.majority


@dataclass(slots=True)
class Unattached:
    """Knows the epoch but follows nobody: waits to hear of a leader, or to stand for election itself."""

    NAME: ClassVar[str] = "unattached"

    epoch: int
    voted: ReplicaKey | None
    leader_id: int | None
    election_deadline_ms: int

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        return _grant_once(self, candidate, log_is_current=log_is_current, pre_vote=pre_vote)


@dataclass(slots=True)
class Prospective:
    """Asks whether it could win, before it disturbs anyone with a new epoch (pre-vote, KIP-996).

    It keeps its epoch, its vote and the leader it knew, so a replica that was merely cut off returns without effect.
    """

    NAME: ClassVar[str] = "prospective"

    epoch: int
    voted: ReplicaKey | None
    leader_id: int | None
    ballot: Ballot
    election_deadline_ms: int

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        return _grant_once(self, candidate, log_is_current=log_is_current, pre_vote=pre_vote)


@dataclass(slots=True)
class Candidate:
    """Has started a new epoch, voted for itself, and asks the others for their votes."""

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


@dataclass(slots=True)
class Resigned:
    """A former leader that will not lead this epoch again.

    It told the others (EndQuorumEpoch), or could not reach them. It stays out of the way until an election timeout has
    passed without news of a successor; if its process is about to stop, it never stands for election itself.
    """

    NAME: ClassVar[str] = "resigned"

    epoch: int
    local: ReplicaKey
    election_deadline_ms: int
    preferred_candidates: tuple[ReplicaKey, ...] = ()
    unacknowledged_ids: set[int] = field(default_factory=set)
    is_stopping: bool = False

    @property
    def leader_id(self) -> int:
        return self.local.id

    @property
    def voted(self) -> None:
        return None

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        del candidate
        return pre_vote and log_is_current


def _grant_once(role: Unattached | Prospective, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
    """Whether a replica that may still vote in its epoch grants it: to the candidate it voted for, or to its first."""
    if pre_vote:
        return log_is_current
    if role.voted is not None:
        return role.voted.matches(candidate)
    return role.leader_id is None and log_is_current
