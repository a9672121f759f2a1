"""Who votes: replicas named by id and directory id (KIP-853).

The directory id makes a wiped disk a different replica, so a voter that lost its log cannot vote a second time in an
epoch that it has forgotten. Static quorums (kraft.version 0) have no directory ids; a zero directory id matches any.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_DIRECTORY = bytes(16)


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    id: int
    directory_id: bytes = NO_DIRECTORY

    def matches(self, other: ReplicaKey) -> bool:
        if self.id != other.id:
            return False
        return NO_DIRECTORY in (self.directory_id, other.directory_id) or self.directory_id == other.directory_id


@dataclass(frozen=True, slots=True)
class VoterEndpoint:
    """Where a voter listens, under the name of that listener."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Voter:
    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 1


@dataclass(frozen=True, slots=True)
class VoterSet:
    voters: tuple[Voter, ...]

    def __post_init__(self) -> None:
        ids = [voter.key.id for voter in self.voters]
        if len(set(ids)) != len(ids):
            raise ValueError(f"voter ids must be unique, got {ids}")

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.key.id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def key_of(self, replica_id: int) -> ReplicaKey | None:
        return next((voter.key for voter in self.voters if voter.key.id == replica_id), None)

    def contains(self, key: ReplicaKey) -> bool:
        own = self.key_of(key.id)
        return own is not None and own.matches(key)

    def others(self, key: ReplicaKey) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self.voters if not voter.key.matches(key))

    def is_only(self, key: ReplicaKey) -> bool:
        return len(self.voters) == 1 and self.contains(key)
