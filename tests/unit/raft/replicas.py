"""Small quorums to drive by hand."""

from __future__ import annotations

from ottla.raft import (
    Batch,
    LogView,
    OpaqueContent,
    QuorumSettings,
    RaftNode,
    Ready,
    ReplicaKey,
    RequestReceived,
    ResponseReceived,
    Start,
    Voter,
    VoterHistory,
    VoterSet,
)
from ottla.raft.messages import QuorumError, RequestMessage, ResponseMessage, VoteResponse
from ottla.raft.ready import ElectionState, Reply, Request

SETTINGS = QuorumSettings(election_timeout_ms=100, fetch_timeout_ms=200, request_timeout_ms=50, fetch_max_wait_ms=30)


def key(replica_id: int) -> ReplicaKey:
    return ReplicaKey(replica_id, bytes([replica_id]) * 16)


def voters(*ids: int) -> VoterSet:
    return VoterSet(tuple(Voter(key(i)) for i in ids))


def batch(base_offset: int, epoch: int, count: int = 1) -> Batch:
    return Batch(base_offset, count, epoch, OpaqueContent(b"%d@%d" % (base_offset, epoch)))


def log_of(*batches: Batch) -> LogView:
    log = LogView()
    for one in batches:
        log.append(one)
    return log


def replica(
    local_id: int = 1,
    *,
    voter_ids: tuple[int, ...] = (1, 2, 3),
    log: LogView | None = None,
    election: ElectionState | None = None,
) -> RaftNode:
    """A started replica; its random numbers are all 0, so timeouts are the smallest possible."""
    node = RaftNode(
        local=key(local_id),
        history=VoterHistory(voters(*voter_ids), 1),
        log=log or LogView(),
        election=election or ElectionState(),
        jitter=lambda bound: 0,
        settings=SETTINGS,
    )
    node.step(Start(), 0)
    return node


def ask(node: RaftNode, request: RequestMessage, now_ms: int = 0) -> ResponseMessage:
    """The immediate reply to a request."""
    ready = node.step(RequestReceived(request, "client"), now_ms)
    replies = [message for message in ready.messages if isinstance(message, Reply)]
    assert len(replies) == 1
    return replies[0].message


def requests_of(ready: Ready) -> dict[int, Request]:
    return {message.to_id: message for message in ready.messages if isinstance(message, Request)}


def answer(node: RaftNode, request: Request, response: ResponseMessage, now_ms: int) -> Ready:
    return node.step(ResponseReceived(request.to_id, request.correlation_id, response), now_ms)


def grant(epoch: int, *, pre_vote: bool, granted: bool = True) -> VoteResponse:
    return VoteResponse(QuorumError.NONE, epoch, None, granted, pre_vote)
