"""The metadata quorum as a pure state machine (KRaft's shape: KIP-595, KIP-853, KIP-996).

``RaftNode.step(event, now_ms)`` returns a ``Ready``: what to persist, then what to send, then what is committed. The
package touches no clock, socket, file or random source, so the same code runs in a broker and in the simulator.
"""

from ottla.raft.batch import (
    Batch,
    Content,
    ControlRecordsContent,
    KRaftVersionContent,
    LeaderChangeContent,
    OpaqueContent,
    ValuesContent,
    VotersContent,
)
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.events import (
    Event,
    LogStartMoved,
    Persisted,
    Propose,
    RequestFailed,
    RequestReceived,
    Resign,
    ResponseReceived,
    SnapshotCreated,
    SnapshotInstalled,
    Start,
    Tick,
)
from ottla.raft.log_view import LogView
from ottla.raft.node import RaftNode
from ottla.raft.quorum import QuorumSettings
from ottla.raft.ready import (
    Accepted,
    Ready,
    Reply,
    Request,
    RoleChange,
    ServeFetch,
    ServeSnapshot,
    SnapshotChunk,
)
from ottla.raft.voter_history import Membership, VoterHistory
from ottla.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet

__all__ = [
    "Accepted",
    "Batch",
    "Content",
    "ControlRecordsContent",
    "Event",
    "KRaftVersionContent",
    "LeaderChangeContent",
    "LogStartMoved",
    "LogView",
    "Membership",
    "OffsetAndEpoch",
    "OpaqueContent",
    "Persisted",
    "Propose",
    "QuorumSettings",
    "RaftNode",
    "Ready",
    "ReplicaKey",
    "Reply",
    "Request",
    "RequestFailed",
    "RequestReceived",
    "Resign",
    "ResponseReceived",
    "RoleChange",
    "ServeFetch",
    "ServeSnapshot",
    "SnapshotChunk",
    "SnapshotCreated",
    "SnapshotInstalled",
    "Start",
    "Tick",
    "ValuesContent",
    "Voter",
    "VoterEndpoint",
    "VoterHistory",
    "VoterSet",
    "VotersContent",
]
