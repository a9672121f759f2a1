"""The quorum's requests and responses, as the state machine sees them.

The shell maps them to the wire (Vote 52, BeginQuorumEpoch 53, EndQuorumEpoch 54, Fetch 1, FetchSnapshot 59). Every
response carries the sender's epoch and the leader it knows; a replica that lags learns of the new epoch from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ottla.raft.batch import Batch
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.voters import ReplicaKey


class QuorumError(Enum):
    NONE = "none"
    FENCED_LEADER_EPOCH = "fenced leader epoch"
    UNKNOWN_LEADER_EPOCH = "unknown leader epoch"
    NOT_LEADER_OR_FOLLOWER = "not leader"
    INVALID_REQUEST = "invalid request"
    INVALID_VOTER_KEY = "invalid voter key"
    SNAPSHOT_NOT_FOUND = "snapshot not found"
    POSITION_OUT_OF_RANGE = "position out of range"


@dataclass(frozen=True, slots=True)
class VoteRequest:
    epoch: int
    candidate: ReplicaKey
    voter: ReplicaKey
    last: OffsetAndEpoch
    pre_vote: bool


@dataclass(frozen=True, slots=True)
class VoteResponse:
    error: QuorumError
    epoch: int
    leader_id: int | None
    granted: bool
    pre_vote: bool


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochRequest:
    epoch: int
    leader_id: int
    voter: ReplicaKey


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochResponse:
    error: QuorumError
    epoch: int
    leader_id: int | None


@dataclass(frozen=True, slots=True)
class EndQuorumEpochRequest:
    epoch: int
    leader_id: int
    preferred_candidates: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True)
class EndQuorumEpochResponse:
    error: QuorumError
    epoch: int
    leader_id: int | None


@dataclass(frozen=True, slots=True)
class FetchRequest:
    epoch: int
    replica: ReplicaKey
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_wait_ms: int


@dataclass(frozen=True, slots=True)
class FetchResponse:
    error: QuorumError
    epoch: int
    leader_id: int | None
    high_watermark: int = -1
    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchSnapshotRequest:
    epoch: int
    replica: ReplicaKey
    snapshot: OffsetAndEpoch
    position: int


@dataclass(frozen=True, slots=True)
class FetchSnapshotResponse:
    error: QuorumError
    epoch: int
    leader_id: int | None
    snapshot: OffsetAndEpoch | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""


RequestMessage = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest
ResponseMessage = (
    VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse
)
