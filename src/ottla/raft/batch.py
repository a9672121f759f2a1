"""What the log holds: batches of records with an offset range and the epoch of the leader that wrote them.

The state machine never opens a batch. A leader describes the content (control records or the values of a proposal)
and the shell encodes it. A follower appends the bytes that it was sent. The shell that receives them decodes the
control records in them, because those name the voters (`ottla.raft.voter_history`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.raft.voters import ReplicaKey, VoterSet


@dataclass(frozen=True, slots=True)
class LeaderChangeContent:
    """The control record that opens a leader's epoch."""

    leader_id: int
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True)
class KRaftVersionContent:
    kraft_version: int


@dataclass(frozen=True, slots=True)
class VotersContent:
    voters: VoterSet


ControlContent = LeaderChangeContent | KRaftVersionContent | VotersContent


@dataclass(frozen=True, slots=True)
class ControlRecordsContent:
    records: tuple[ControlContent, ...]


@dataclass(frozen=True, slots=True)
class ValuesContent:
    """The record values of one proposal, written as one batch so that it is committed whole or not at all."""

    values: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class OpaqueContent:
    """A batch as the leader encoded it, and the control records in it."""

    data: bytes
    control: tuple[ControlContent, ...] = ()


Content = ControlRecordsContent | ValuesContent | OpaqueContent


@dataclass(frozen=True, slots=True)
class Batch:
    base_offset: int
    count: int
    epoch: int
    content: Content

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"a batch holds at least one record, got {self.count}")

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.count

    @property
    def control_records(self) -> tuple[ControlContent, ...]:
        content = self.content
        if isinstance(content, ControlRecordsContent):
            return content.records
        return content.control if isinstance(content, OpaqueContent) else ()
