"""Raft's messages as Kafka's requests and responses: Vote 52, BeginQuorumEpoch 53, EndQuorumEpoch 54, Fetch 1 and
FetchSnapshot 59, each about the one partition of `__cluster_metadata`.

Pure: bytes and connections are elsewhere. Whatever a peer sends is checked here, so that the state machine sees only
messages that make sense. A request that does not is answered with its error code (`RefusedRequest`); a response that
does not counts as none (`UnusableResponse`), and the request is repeated.

Error codes stand in two places (KIP-595). The one of the whole response says that the request was not for this cluster
or not for this partition. The one of the partition is the answer of raft, which the state machine interprets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC
from ottla.metadata.log_batches import read_opaque_batches
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import (
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    fetch_request,
    fetch_response,
    fetch_snapshot_request,
    fetch_snapshot_response,
    vote_request,
    vote_response,
)
from ottla.protocol.schema import Message, Records
from ottla.protocol.uuids import METADATA_TOPIC_ID
from ottla.raft import OffsetAndEpoch, ReplicaKey
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumError,
    RequestMessage,
    ResponseMessage,
    VoteRequest,
    VoteResponse,
)
from ottla.raft.voters import VoterEndpoint

NO_NODE: Final = -1
# Fetch and FetchSnapshot name topics by id from this version of Fetch on.
_TOPIC_ID_VERSION: Final = 13
_REPLICA_STATE_VERSION: Final = 15

_ERROR_CODES: Final[dict[QuorumError, ErrorCode]] = {
    QuorumError.NONE: ErrorCode.NONE,
    QuorumError.FENCED_LEADER_EPOCH: ErrorCode.FENCED_LEADER_EPOCH,
    QuorumError.UNKNOWN_LEADER_EPOCH: ErrorCode.UNKNOWN_LEADER_EPOCH,
    QuorumError.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    QuorumError.INVALID_REQUEST: ErrorCode.INVALID_REQUEST,
    QuorumError.INVALID_VOTER_KEY: ErrorCode.INVALID_VOTER_KEY,
    QuorumError.SNAPSHOT_NOT_FOUND: ErrorCode.SNAPSHOT_NOT_FOUND,
    QuorumError.POSITION_OUT_OF_RANGE: ErrorCode.POSITION_OUT_OF_RANGE,
}
_ERRORS: Final = {int(code): error for error, code in _ERROR_CODES.items()}


class RefusedRequest(Exception):
    """A request that raft must not see; its sender gets the code."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class UnusableResponse(Exception):
    """A response that says nothing that raft could use; the message says why."""


class ForeignCluster(UnusableResponse):
    """Whoever was asked belongs to another cluster."""

    def __init__(self) -> None:
        super().__init__("INCONSISTENT_CLUSTER_ID: its cluster.id is not that of this node's meta.properties")


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends requests: the cluster that it belongs to, and where it listens as a controller."""

    cluster_id: str
    endpoints: tuple[VoterEndpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a voter can be reached, as a response tells."""

    node_id: int
    host: str
    port: int


# --- requests that leave ------------------------------------------------------------------------------------------


def encode_request(message: RequestMessage, sender: Sender, max_bytes: int) -> Message:
    """The request of the newest version; `max_bytes` is asked for by fetches."""
    if isinstance(message, VoteRequest):
        return _encode_vote(message, sender)
    if isinstance(message, BeginQuorumEpochRequest):
        return _encode_begin_epoch(message, sender)
    if isinstance(message, EndQuorumEpochRequest):
        return _encode_end_epoch(message, sender)
    if isinstance(message, FetchRequest):
        return _encode_fetch(message, sender, max_bytes)
    return _encode_fetch_snapshot(message, sender, max_bytes)


def _encode_vote(message: VoteRequest, sender: Sender) -> vote_request.VoteRequest:
    partition = vote_request.PartitionData(
        partition_index=0,
        replica_epoch=message.epoch,
        replica_id=message.candidate.id,
        replica_directory_id=message.candidate.directory_id,
        voter_directory_id=message.voter.directory_id,
        last_offset_epoch=message.last.epoch,
        last_offset=message.last.offset,
        pre_vote=message.pre_vote,
    )
    return vote_request.VoteRequest(
        cluster_id=sender.cluster_id,
        voter_id=message.voter.id,
        topics=[vote_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
    )


def _encode_begin_epoch(
    message: BeginQuorumEpochRequest, sender: Sender
) -> begin_quorum_epoch_request.BeginQuorumEpochRequest:
    partition = begin_quorum_epoch_request.PartitionData(
        partition_index=0,
        voter_directory_id=message.voter.directory_id,
        leader_id=message.leader_id,
        leader_epoch=message.epoch,
    )
    return begin_quorum_epoch_request.BeginQuorumEpochRequest(
        cluster_id=sender.cluster_id,
        voter_id=message.voter.id,
        topics=[begin_quorum_epoch_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
        leader_endpoints=[
            begin_quorum_epoch_request.LeaderEndpoint(name=own.name, host=own.host, port=own.port)
            for own in sender.endpoints
        ],
    )


def _encode_end_epoch(message: EndQuorumEpochRequest, sender: Sender) -> end_quorum_epoch_request.EndQuorumEpochRequest:
    partition = end_quorum_epoch_request.PartitionData(
        partition_index=0,
        leader_id=message.leader_id,
        leader_epoch=message.epoch,
        preferred_successors=[key.id for key in message.preferred_candidates],
        preferred_candidates=[
            end_quorum_epoch_request.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id)
            for key in message.preferred_candidates
        ],
    )
    return end_quorum_epoch_request.EndQuorumEpochRequest(
        cluster_id=sender.cluster_id,
        topics=[end_quorum_epoch_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
        leader_endpoints=[
            end_quorum_epoch_request.LeaderEndpoint(name=own.name, host=own.host, port=own.port)
            for own in sender.endpoints
        ],
    )


def _encode_fetch(message: FetchRequest, sender: Sender, max_bytes: int) -> fetch_request.FetchRequest:
    partition = fetch_request.FetchPartition(
        partition=0,
        current_leader_epoch=message.epoch,
        fetch_offset=message.fetch_offset,
        last_fetched_epoch=message.last_fetched_epoch,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
        replica_directory_id=message.replica.directory_id,
        high_watermark=message.high_watermark,
    )
    return fetch_request.FetchRequest(
        cluster_id=sender.cluster_id,
        replica_id=message.replica.id,
        replica_state=fetch_request.ReplicaState(replica_id=message.replica.id, replica_epoch=-1),
        max_wait_ms=message.max_wait_ms,
        min_bytes=0,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[
            fetch_request.FetchTopic(topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        ],
    )


def _encode_fetch_snapshot(
    message: FetchSnapshotRequest, sender: Sender, max_bytes: int
) -> fetch_snapshot_request.FetchSnapshotRequest:
    partition = fetch_snapshot_request.PartitionSnapshot(
        partition=0,
        current_leader_epoch=message.epoch,
        snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=message.snapshot.offset, epoch=message.snapshot.epoch),
        position=message.position,
        replica_directory_id=message.replica.directory_id,
    )
    return fetch_snapshot_request.FetchSnapshotRequest(
        cluster_id=sender.cluster_id,
        replica_id=message.replica.id,
        max_bytes=max_bytes,
        topics=[fetch_snapshot_request.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
    )


# --- requests that arrive -----------------------------------------------------------------------------------------


def decode_request(request: Message, api_version: int, cluster_id: str) -> RequestMessage:
    """What a request asks of raft; RefusedRequest if it is not for this cluster, or not about its metadata."""
    if request.cluster_id is not None and request.cluster_id != cluster_id:  # type: ignore[attr-defined]
        raise RefusedRequest(ErrorCode.INCONSISTENT_CLUSTER_ID)
    if isinstance(request, vote_request.VoteRequest):
        return _decode_vote(request)
    if isinstance(request, begin_quorum_epoch_request.BeginQuorumEpochRequest):
        return _decode_begin_epoch(request)
    if isinstance(request, end_quorum_epoch_request.EndQuorumEpochRequest):
        return _decode_end_epoch(request)
    if isinstance(request, fetch_request.FetchRequest):
        return _decode_fetch(request, api_version)
    assert isinstance(request, fetch_snapshot_request.FetchSnapshotRequest)
    return _decode_fetch_snapshot(request)


class _Topic(Protocol):
    @property
    def partitions(self) -> Sequence[Any]: ...


def _only_partition(topics: Sequence[_Topic], name: str | bytes | None) -> Any:
    """The metadata's partition, as the only one that a request may be about."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise RefusedRequest(ErrorCode.INVALID_REQUEST)
    partition = topics[0].partitions[0]
    index = getattr(partition, "partition_index", None)
    if (partition.partition if index is None else index) != 0 or name not in (
        CLUSTER_METADATA_TOPIC,
        METADATA_TOPIC_ID,
    ):
        raise RefusedRequest(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return partition


def _named(topics: Sequence[Any], field: str) -> str | None:
    return getattr(topics[0], field) if len(topics) == 1 else None


def _decode_vote(request: vote_request.VoteRequest) -> VoteRequest:
    data: vote_request.PartitionData = _only_partition(request.topics, _named(request.topics, "topic_name"))
    # A candidate of an epoch has only records of earlier ones; a prospective one may have records of its own.
    last_epoch_max = data.replica_epoch if data.pre_vote else data.replica_epoch - 1
    if not 0 <= data.last_offset_epoch <= last_epoch_max or data.last_offset < 0 or data.replica_id < 0:
        raise RefusedRequest(ErrorCode.INVALID_REQUEST)
    return VoteRequest(
        data.replica_epoch,
        ReplicaKey(data.replica_id, data.replica_directory_id),
        ReplicaKey(request.voter_id, data.voter_directory_id),
        OffsetAndEpoch(data.last_offset, data.last_offset_epoch),
        pre_vote=data.pre_vote,
    )


def _decode_begin_epoch(request: begin_quorum_epoch_request.BeginQuorumEpochRequest) -> BeginQuorumEpochRequest:
    data: begin_quorum_epoch_request.PartitionData = _only_partition(
        request.topics, _named(request.topics, "topic_name")
    )
    if data.leader_id < 0 or data.leader_epoch < 0:
        raise RefusedRequest(ErrorCode.INVALID_REQUEST)
    voter = ReplicaKey(request.voter_id, data.voter_directory_id)
    return BeginQuorumEpochRequest(data.leader_epoch, data.leader_id, voter)


def _decode_end_epoch(request: end_quorum_epoch_request.EndQuorumEpochRequest) -> EndQuorumEpochRequest:
    data: end_quorum_epoch_request.PartitionData = _only_partition(request.topics, _named(request.topics, "topic_name"))
    if data.leader_id < 0 or data.leader_epoch < 0:
        raise RefusedRequest(ErrorCode.INVALID_REQUEST)
    candidates = [ReplicaKey(one.candidate_id, one.candidate_directory_id) for one in data.preferred_candidates]
    # Before KIP-853 a candidate was its id.
    candidates = candidates or [ReplicaKey(candidate_id) for candidate_id in data.preferred_successors]
    return EndQuorumEpochRequest(data.leader_epoch, data.leader_id, tuple(candidates))


def _decode_fetch(request: fetch_request.FetchRequest, api_version: int) -> FetchRequest:
    by_id = api_version >= _TOPIC_ID_VERSION
    name = _named(request.topics, "topic_id" if by_id else "topic")
    data: fetch_request.FetchPartition = _only_partition(request.topics, name)
    state = request.replica_state
    replica_id = request.replica_id if api_version < _REPLICA_STATE_VERSION or state is None else state.replica_id
    if data.fetch_offset < 0 or data.current_leader_epoch < 0 or data.last_fetched_epoch < 0:
        raise RefusedRequest(ErrorCode.INVALID_REQUEST)
    return FetchRequest(
        data.current_leader_epoch,
        ReplicaKey(replica_id, data.replica_directory_id),
        data.fetch_offset,
        data.last_fetched_epoch,
        data.high_watermark,
        request.max_wait_ms,
    )


def _decode_fetch_snapshot(request: fetch_snapshot_request.FetchSnapshotRequest) -> FetchSnapshotRequest:
    data: fetch_snapshot_request.PartitionSnapshot = _only_partition(request.topics, _named(request.topics, "name"))
    if data.current_leader_epoch < 0 or data.position < 0:
        raise RefusedRequest(ErrorCode.POSITION_OUT_OF_RANGE if data.position < 0 else ErrorCode.INVALID_REQUEST)
    return FetchSnapshotRequest(
        data.current_leader_epoch,
        ReplicaKey(request.replica_id, data.replica_directory_id),
        OffsetAndEpoch(data.snapshot_id.end_offset, data.snapshot_id.epoch),
        data.position,
    )


# --- responses that leave -----------------------------------------------------------------------------------------


def encode_response(response: ResponseMessage, leader: NodeAddress | None, records: Records = b"") -> Message:
    """The response of the newest version, with the address of the leader that it names, if it is known.

    `records` are those of a fetch, as the log holds them.
    """
    code = _ERROR_CODES[response.error]
    leader_id = NO_NODE if response.leader_id is None else response.leader_id
    if isinstance(response, VoteResponse):
        vote = vote_response.PartitionData(
            partition_index=0,
            error_code=code,
            leader_id=leader_id,
            leader_epoch=response.epoch,
            vote_granted=response.granted,
        )
        return vote_response.VoteResponse(
            topics=[vote_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[vote])],
            node_endpoints=_endpoints(vote_response.NodeEndpoint, leader),
        )
    if isinstance(response, BeginQuorumEpochResponse):
        begun = begin_quorum_epoch_response.PartitionData(
            partition_index=0, error_code=code, leader_id=leader_id, leader_epoch=response.epoch
        )
        return begin_quorum_epoch_response.BeginQuorumEpochResponse(
            topics=[begin_quorum_epoch_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[begun])],
            node_endpoints=_endpoints(begin_quorum_epoch_response.NodeEndpoint, leader),
        )
    if isinstance(response, EndQuorumEpochResponse):
        ended = end_quorum_epoch_response.PartitionData(
            partition_index=0, error_code=code, leader_id=leader_id, leader_epoch=response.epoch
        )
        return end_quorum_epoch_response.EndQuorumEpochResponse(
            topics=[end_quorum_epoch_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[ended])],
            node_endpoints=_endpoints(end_quorum_epoch_response.NodeEndpoint, leader),
        )
    if isinstance(response, FetchResponse):
        return _encode_fetched(response, code, leader_id, leader, records)
    return _encode_snapshot(response, code, leader_id, leader)


def _encode_fetched(
    response: FetchResponse, code: ErrorCode, leader_id: int, leader: NodeAddress | None, records: Records
) -> fetch_response.FetchResponse:
    partition = fetch_response.PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=response.high_watermark,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=response.epoch),
        aborted_transactions=None,
        records=records,
    )
    if response.diverging is not None:
        partition.diverging_epoch = fetch_response.EpochEndOffset(
            epoch=response.diverging.epoch, end_offset=response.diverging.offset
        )
    if response.snapshot is not None:
        partition.snapshot_id = fetch_response.SnapshotId(
            end_offset=response.snapshot.offset, epoch=response.snapshot.epoch
        )
    return fetch_response.FetchResponse(
        responses=[
            fetch_response.FetchableTopicResponse(
                topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
            )
        ],
        node_endpoints=_endpoints(fetch_response.NodeEndpoint, leader),
    )


def _encode_snapshot(
    response: FetchSnapshotResponse, code: ErrorCode, leader_id: int, leader: NodeAddress | None
) -> fetch_snapshot_response.FetchSnapshotResponse:
    snapshot = response.snapshot
    partition = fetch_snapshot_response.PartitionSnapshot(
        index=0,
        error_code=code,
        current_leader=fetch_snapshot_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=response.epoch),
        size=response.size,
        position=response.position,
        unaligned_records=response.data,
    )
    if snapshot is not None:
        partition.snapshot_id = fetch_snapshot_response.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch)
    return fetch_snapshot_response.FetchSnapshotResponse(
        topics=[fetch_snapshot_response.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
        node_endpoints=_endpoints(fetch_snapshot_response.NodeEndpoint, leader),
    )


def _endpoints(kind: Any, leader: NodeAddress | None) -> list[Any]:
    return [] if leader is None else [kind(node_id=leader.node_id, host=leader.host, port=leader.port)]


def encode_refusal(request: Message, code: ErrorCode) -> Message:
    """The response to a request that raft does not see."""
    if isinstance(request, vote_request.VoteRequest):
        return vote_response.VoteResponse(error_code=code)
    if isinstance(request, begin_quorum_epoch_request.BeginQuorumEpochRequest):
        return begin_quorum_epoch_response.BeginQuorumEpochResponse(error_code=code)
    if isinstance(request, end_quorum_epoch_request.EndQuorumEpochRequest):
        return end_quorum_epoch_response.EndQuorumEpochResponse(error_code=code)
    if isinstance(request, fetch_request.FetchRequest):
        return fetch_response.FetchResponse(error_code=code)
    return fetch_snapshot_response.FetchSnapshotResponse(error_code=code)


# --- responses that arrive ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What a peer answered, and the addresses that it told."""

    response: ResponseMessage
    addresses: tuple[NodeAddress, ...]


def decode_response(response: Any, *, is_pre_vote: bool = False) -> Answer:
    """What a response tells raft; UnusableResponse if it refuses the whole request, or makes no sense.

    A Vote does not say whether it answers a pre-vote: whoever asked knows.
    """
    if response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
        raise ForeignCluster
    if response.error_code != ErrorCode.NONE:
        raise UnusableResponse(f"{type(response).__name__} with error {_name(response.error_code)}")
    topics = response.responses if isinstance(response, fetch_response.FetchResponse) else response.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise UnusableResponse(f"{type(response).__name__} is not about one partition")
    data = topics[0].partitions[0]
    error = _ERRORS.get(data.error_code)
    if error is None:
        raise UnusableResponse(f"{type(response).__name__} with error {_name(data.error_code)}")
    addresses = tuple(NodeAddress(node.node_id, node.host, node.port) for node in response.node_endpoints)
    return Answer(_decode_partition(response, data, error, is_pre_vote), addresses)


def _decode_partition(response: Message, data: Any, error: QuorumError, is_pre_vote: bool) -> ResponseMessage:
    if isinstance(response, fetch_response.FetchResponse | fetch_snapshot_response.FetchSnapshotResponse):
        leader = data.current_leader
        if leader is None:
            raise UnusableResponse(f"{type(response).__name__} does not say in which epoch it was given")
        if isinstance(response, fetch_response.FetchResponse):
            return _decode_fetched(data, error, leader)
        return FetchSnapshotResponse(
            error,
            leader.leader_epoch,
            _known(leader.leader_id),
            OffsetAndEpoch(data.snapshot_id.end_offset, data.snapshot_id.epoch),
            data.size,
            data.position,
            bytes(data.unaligned_records or b""),
        )
    leader_id = _known(data.leader_id)
    if isinstance(response, vote_response.VoteResponse):
        return VoteResponse(error, data.leader_epoch, leader_id, data.vote_granted, is_pre_vote)
    if isinstance(response, begin_quorum_epoch_response.BeginQuorumEpochResponse):
        return BeginQuorumEpochResponse(error, data.leader_epoch, leader_id)
    return EndQuorumEpochResponse(error, data.leader_epoch, leader_id)


def _decode_fetched(
    data: fetch_response.PartitionData, error: QuorumError, leader: fetch_response.LeaderIdAndEpoch
) -> FetchResponse:
    diverging, snapshot = data.diverging_epoch, data.snapshot_id
    try:
        batches = read_opaque_batches(data.records or b"")
    except UnreadableMetadata as damage:
        raise UnusableResponse(str(damage)) from damage
    return FetchResponse(
        error,
        leader.leader_epoch,
        _known(leader.leader_id),
        data.high_watermark,
        OffsetAndEpoch(diverging.end_offset, diverging.epoch) if diverging and diverging.end_offset >= 0 else None,
        OffsetAndEpoch(snapshot.end_offset, snapshot.epoch) if snapshot and snapshot.end_offset >= 0 else None,
        batches,
    )


def _known(node_id: int) -> int | None:
    return node_id if node_id >= 0 else None


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
