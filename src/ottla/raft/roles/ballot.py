"""Counting the votes of one election."""

from __future__ import annotations

from ottla.raft.voters import VoterSet


class Ballot:
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
