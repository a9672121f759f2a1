"""The leader of an epoch: it alone appends, and it decides what is committed.

The high watermark is the largest offset that a majority of voters holds durably. It first moves when that majority
reaches a record of the leader's own epoch (its LeaderChange record): counting copies of older epochs' records could
commit something that a later leader may still overwrite (Raft, section 5.4.2).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar

from ottla.raft.messages import FetchRequest
from ottla.raft.voters import ReplicaKey, VoterSet

# The leader tracks at most this many observers, so that invented replica ids cannot exhaust its memory.
MAX_OBSERVERS = 1000
# Observers that have not fetched for this long are gone, as in Kafka.
OBSERVER_SESSION_TIMEOUT_MS = 300_000


@dataclass(slots=True)
class ReplicaProgress:
    key: ReplicaKey
    end_offset: int = -1
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    last_begin_ms: int = -1
    leader_end_at_last_fetch: int = -1

    def fetched(self, fetch_offset: int, leader_end_offset: int, now_ms: int) -> None:
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = now_ms
        elif self.leader_end_at_last_fetch >= 0 and fetch_offset >= self.leader_end_at_last_fetch:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.end_offset = max(self.end_offset, fetch_offset)
        self.last_fetch_ms = now_ms
        self.leader_end_at_last_fetch = leader_end_offset


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    """A fetch that had nothing to return: answered by new records, a new high watermark, or its deadline."""

    request: FetchRequest
    reply_to: Hashable
    deadline_ms: int


@dataclass(slots=True)
class Leader:
    NAME: ClassVar[str] = "leader"

    epoch: int
    local: ReplicaKey
    voters: VoterSet
    epoch_start_offset: int
    elected_ms: int
    high_watermark: int = -1
    progress: dict[int, ReplicaProgress] = field(default_factory=dict)
    observers: dict[ReplicaKey, ReplicaProgress] = field(default_factory=dict)
    unacknowledged_ids: set[int] = field(default_factory=set)
    parked: list[ParkedFetch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.progress = {voter.key.id: ReplicaProgress(voter.key) for voter in self.voters.voters}
        self.unacknowledged_ids = {key.id for key in self.voters.others(self.local)}

    def follow_voters(self, voters: VoterSet) -> None:
        """Adopt changed voters: from now on they decide what is committed."""
        former, self.voters = self.progress, voters
        self.progress = {}
        for voter in voters.voters:
            known = former.get(voter.key.id) or self.observers.pop(voter.key, None)
            is_same = known is not None and known.key.matches(voter.key)
            self.progress[voter.key.id] = known if known is not None and is_same else ReplicaProgress(voter.key)
        self.unacknowledged_ids &= set(self.progress)
        self.unacknowledged_ids |= {key.id for key in voters.others(self.local) if key.id not in former}

    @property
    def leader_id(self) -> int:
        return self.local.id

    @property
    def voted(self) -> None:
        return None

    def grants(self, candidate: ReplicaKey, *, log_is_current: bool, pre_vote: bool) -> bool:
        del candidate, log_is_current, pre_vote
        return False

    def persisted(self, end_offset: int) -> bool:
        """Count the leader's own durable log; True when the high watermark moved."""
        own = self.progress.get(self.local.id)
        if own is not None:
            own.end_offset = max(own.end_offset, end_offset)
        return self._advance()

    def fetched(self, replica: ReplicaKey, fetch_offset: int, leader_end_offset: int, now_ms: int) -> bool:
        """A fetch at an offset says that everything before it is durable there; True when the watermark moved."""
        if self.voters.contains(replica):
            progress = self.progress[replica.id]
            # Any fetch of this epoch shows that the voter knows of the new leader.
            self.unacknowledged_ids.discard(replica.id)
        else:
            self._make_room_for(replica, now_ms)
            progress = self.observers.setdefault(replica, ReplicaProgress(replica))
        progress.fetched(fetch_offset, leader_end_offset, now_ms)
        return self._advance()

    def present_observers(self, now_ms: int) -> list[ReplicaProgress]:
        """The replicas without a vote that fetch. A node that was removed, or lost its disk, does not come back."""
        return [one for one in self.observers.values() if now_ms - one.last_fetch_ms < OBSERVER_SESSION_TIMEOUT_MS]

    def heard_from(self, replica: ReplicaKey, now_ms: int) -> None:
        """Note that a replica is alive; a voter counts as alive even while it reconciles its log."""
        if self.voters.contains(replica):
            self.progress[replica.id].last_fetch_ms = now_ms
            self.unacknowledged_ids.discard(replica.id)

    def check_quorum_deadline_ms(self, timeout_ms: int) -> int | None:
        """When this leader must step down unless more voters fetch; None for a lone voter."""
        needed = self.voters.majority - (1 if self.voters.contains(self.local) else 0)
        if needed == 0:
            return None
        seen = sorted(
            (max(p.last_fetch_ms, self.elected_ms) for p in self.progress.values() if p.key.id != self.local.id),
            reverse=True,
        )
        return seen[needed - 1] + timeout_ms

    def acknowledged(self, voter_id: int, now_ms: int) -> None:
        """A voter answered that it follows this leader."""
        self.unacknowledged_ids.discard(voter_id)
        if (progress := self.progress.get(voter_id)) is not None:
            progress.last_begin_ms = now_ms

    def begin_epoch_due_ms(self, interval_ms: int) -> dict[int, int]:
        """When each other voter is to be told (again) that this replica leads: at once until it has acknowledged it,
        afterwards whenever it has not fetched for a while."""
        return {
            voter_id: self.elected_ms
            if voter_id in self.unacknowledged_ids
            else max(progress.last_fetch_ms, progress.last_begin_ms) + interval_ms
            for voter_id, progress in self.progress.items()
            if voter_id != self.local.id
        }

    def successors(self) -> tuple[ReplicaKey, ...]:
        """Other voters, the most caught up first."""
        others = [p for p in self.progress.values() if p.key.id != self.local.id]
        return tuple(p.key for p in sorted(others, key=lambda p: (-p.end_offset, p.key.id)))

    def _advance(self) -> bool:
        ends = sorted((p.end_offset for p in self.progress.values()), reverse=True)
        candidate = ends[self.voters.majority - 1]
        if candidate <= self.epoch_start_offset or candidate <= self.high_watermark:
            return False
        self.high_watermark = candidate
        return True

    def _make_room_for(self, replica: ReplicaKey, now_ms: int) -> None:
        if replica in self.observers:
            return
        self.observers = {one.key: one for one in self.present_observers(now_ms)}
        if len(self.observers) >= MAX_OBSERVERS:
            stalest = min(self.observers, key=lambda key: self.observers[key].last_fetch_ms)
            del self.observers[stalest]
