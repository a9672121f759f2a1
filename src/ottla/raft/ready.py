"""What one step asks of the shell.

Contract, in this order and one Ready after the other: (1) persist `election`, `snapshot_chunk`, `install_snapshot`,
`truncate_to`, `append`, durable before going on; (2) report `SnapshotInstalled` with the membership that an installed
snapshot names; (3) send `messages`; (4) apply committed records up to `high_watermark`; (5) report `Persisted`. A shell
may join several Readys into one fsync, but no message may leave before everything that was asked for up to its own
Ready is durable.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from ottla.raft.batch import Batch
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.messages import RequestMessage, ResponseMessage
from ottla.raft.voters import ReplicaKey


@dataclass(frozen=True, slots=True)
class ElectionState:
    """What a replica must remember about elections: the contents of the quorum-state file.

    It is durable before any message of the same Ready leaves. A vote that was sent but forgotten would allow two
    leaders in one epoch.
    """

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class Request:
    to_id: int
    correlation_id: int
    message: RequestMessage


@dataclass(frozen=True, slots=True)
class Reply:
    reply_to: Hashable
    message: ResponseMessage


@dataclass(frozen=True, slots=True)
class ServeFetch:
    """Answer a fetch with the records in [`from_offset`, `end_offset`), read by the shell, at least one batch."""

    reply_to: Hashable
    epoch: int
    leader_id: int
    high_watermark: int
    from_offset: int
    end_offset: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ServeSnapshot:
    """Answer with a piece of a snapshot file, read by the shell."""

    reply_to: Hashable
    epoch: int
    leader_id: int
    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


Message = Request | Reply | ServeFetch | ServeSnapshot


@dataclass(frozen=True, slots=True)
class SnapshotChunk:
    snapshot: OffsetAndEpoch
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """A proposal became part of the log; it is committed once the high watermark passes `end_offset`."""

    token: Hashable
    base_offset: int
    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class RoleChange:
    role: str
    epoch: int
    leader_id: int | None


@dataclass(slots=True)
class Ready:
    election: ElectionState | None = None
    snapshot_chunk: SnapshotChunk | None = None
    install_snapshot: OffsetAndEpoch | None = None
    truncate_to: int | None = None
    append: list[Batch] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    high_watermark: int | None = None
    role: RoleChange | None = None
    accepted: list[Accepted] = field(default_factory=list)
    rejected: list[Hashable] = field(default_factory=list)

    @property
    def must_persist(self) -> bool:
        return bool(
            self.election or self.snapshot_chunk or self.install_snapshot or self.truncate_to is not None or self.append
        )
