"""Everything that can happen to a replica of the quorum."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.messages import RequestMessage, ResponseMessage
from ottla.raft.voter_history import Membership


@dataclass(frozen=True, slots=True)
class Start:
    """The first event: take up the role that the persisted election state implies."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class RequestReceived:
    request: RequestMessage
    reply_to: Hashable


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    sender_id: int
    correlation_id: int
    response: ResponseMessage


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request will get no answer: the connection broke or the peer refused it.

    `is_refused` says that nobody listens at the peer's address: its process is gone.
    """

    sender_id: int
    correlation_id: int
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class Propose:
    """Write these record values as one atomic batch; a leader only."""

    values: tuple[bytes, ...]
    token: Hashable


@dataclass(frozen=True, slots=True)
class Persisted:
    """The log is durable up to `end_offset`; `epoch` is the replica's epoch when that was written."""

    end_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotCreated:
    """A snapshot of the committed state exists on disk."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SnapshotInstalled:
    """The snapshot of `Ready.install_snapshot` is in place of the log, and this is the membership that it names."""

    snapshot: OffsetAndEpoch
    membership: Membership


@dataclass(frozen=True, slots=True)
class LogStartMoved:
    """Segments that a snapshot covers were removed."""

    start_offset: int


@dataclass(frozen=True, slots=True)
class Resign:
    """The process is about to stop: a leader hands over instead of letting the others time out."""


Event = (
    Start
    | Tick
    | RequestReceived
    | ResponseReceived
    | RequestFailed
    | Propose
    | Persisted
    | SnapshotCreated
    | SnapshotInstalled
    | LogStartMoved
    | Resign
)
