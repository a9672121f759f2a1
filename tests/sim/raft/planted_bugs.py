"""Bugs to plant into the state machine of the quorum, each of a kind that somebody has shipped: all must be found.

A bug is a change of one function, for as long as its context lasts. Those that break a promise are found by the oracles
of any run; those that only disturb are found by a scenario that a right quorum passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ottla.raft import replication
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.quorum import Quorum
from ottla.raft.ready import ElectionState
from ottla.raft.roles import Follower, Leader, Unattached


@contextmanager
def _change(owner: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    with patch.object(owner, name, change(getattr(owner, name))):
        yield


def vote_forgotten_at_restart() -> Any:
    """The file has the epoch, and not for whom the voter voted in it."""

    def remember(self: Quorum) -> None:
        state = ElectionState(self.role.epoch, self.role.leader_id, None)
        if state != self._persisted_election:
            self._persisted_election = self.ready.election = state

    return _change(Quorum, "_remember", lambda _: remember)


def two_votes_in_an_epoch() -> Any:
    """A voter grants its vote to whoever asks."""

    def grants(_role: Unattached, _candidate: Any, *, log_is_current: bool, pre_vote: bool) -> bool:
        del pre_vote
        return log_is_current

    return _change(Unattached, "grants", lambda _: grants)


def vote_for_an_older_log() -> Any:
    """Whether the candidate has everything is not asked."""
    return _change(OffsetAndEpoch, "is_at_least_as_new_as", lambda _: lambda _own, _other: True)


def observer_counted_in_the_majority() -> Any:
    """A replica that has no vote helps to commit."""

    def advance(self: Leader) -> bool:
        copies = [*self.progress.values(), *self.observers.values()]
        candidate = sorted((one.end_offset for one in copies), reverse=True)[self.voters.majority - 1]
        if candidate <= self.epoch_start_offset or candidate <= self.high_watermark:
            return False
        self.high_watermark = candidate
        return True

    return _change(Leader, "_advance", lambda _: advance)


def truncation_below_the_watermark() -> Any:
    """A follower that diverges drops more than what differs, whether it is committed or not."""

    def truncate(quorum: Quorum, _diverging: Any) -> None:
        offset = quorum.log.start_offset
        quorum.high_watermark = min(quorum.high_watermark, offset)
        quorum.truncate_to(offset)

    return _change(replication, "_truncate", lambda _: truncate)


def pre_vote_granted_against_a_live_leader() -> Any:
    """A follower that hears from its leader agrees that another one is needed."""

    def grants(_role: Follower, _candidate: Any, *, log_is_current: bool, pre_vote: bool) -> bool:
        return log_is_current and pre_vote

    return _change(Follower, "grants", lambda _: grants)


def no_check_quorum() -> Any:
    """A leader goes on although no majority fetches from it."""
    return _change(Leader, "check_quorum_deadline_ms", lambda _: lambda _role, _timeout_ms: None)
