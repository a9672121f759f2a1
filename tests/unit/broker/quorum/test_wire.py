import pytest

from ottla.broker.quorum.wire import (
    NodeAddress,
    RefusedRequest,
    Sender,
    UnusableResponse,
    decode_request,
    decode_response,
    encode_refusal,
    encode_request,
    encode_response,
)
from ottla.metadata.log_batches import encode_log_batch
from ottla.protocol.codec import decode, encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.vote_response import VoteResponse as WireVoteResponse
from ottla.protocol.schema import Message
from ottla.raft import OffsetAndEpoch, ReplicaKey
from ottla.raft.batch import Batch, ControlRecordsContent, KRaftVersionContent, OpaqueContent, ValuesContent
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

CLUSTER = "Oc3-7fJuTqWcXfVv2sQ4Mw"
ONE = ReplicaKey(1, bytes(15) + b"\x11")
TWO = ReplicaKey(2, bytes(15) + b"\x22")
SENDER = Sender(CLUSTER, (VoterEndpoint("CONTROLLER", "node-1", 9093),))
REQUESTS: list[RequestMessage] = [
    VoteRequest(7, ONE, TWO, OffsetAndEpoch(100, 6), pre_vote=False),
    VoteRequest(7, ONE, TWO, OffsetAndEpoch(100, 7), pre_vote=True),
    BeginQuorumEpochRequest(7, 1, TWO),
    EndQuorumEpochRequest(7, 1, (TWO, ReplicaKey(3, bytes(15) + b"\x33"))),
    FetchRequest(7, TWO, 100, 6, 90, 500),
    FetchSnapshotRequest(7, TWO, OffsetAndEpoch(80, 5), 4096),
]
RESPONSES: list[ResponseMessage] = [
    VoteResponse(QuorumError.NONE, 7, None, granted=True, pre_vote=False),
    VoteResponse(QuorumError.INVALID_VOTER_KEY, 7, 3, granted=False, pre_vote=False),
    BeginQuorumEpochResponse(QuorumError.FENCED_LEADER_EPOCH, 8, 3),
    EndQuorumEpochResponse(QuorumError.NONE, 7, 1),
    FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, 8, 3),
    FetchResponse(QuorumError.NONE, 7, 1, 90, diverging=OffsetAndEpoch(50, 4)),
    FetchResponse(QuorumError.NONE, 7, 1, 90, snapshot=OffsetAndEpoch(80, 5)),
    FetchSnapshotResponse(QuorumError.NONE, 7, 1, OffsetAndEpoch(80, 5), 10_000, 4096, b"a piece"),
]


def carry(message: Message) -> Message:
    """The message as the other side reads it."""
    version = message.VERSIONS.stop - 1
    return decode(type(message), encode(message, version), version)


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_a_request_arrives_as_it_left(request_: RequestMessage) -> None:
    carried = carry(encode_request(request_, SENDER, max_bytes=1024))

    assert decode_request(carried, type(carried).VERSIONS.stop - 1, CLUSTER) == request_


@pytest.mark.parametrize("response", RESPONSES, ids=repr)
def test_a_response_arrives_as_it_left_with_the_address_of_the_leader(response: ResponseMessage) -> None:
    leader = NodeAddress(3, "node-3", 9093)

    answer = decode_response(carry(encode_response(response, leader)))

    assert answer.response == response
    assert answer.addresses == (leader,)


def test_batches_arrive_unopened_but_for_control_records() -> None:
    sent = (
        Batch(100, 1, 7, ControlRecordsContent((KRaftVersionContent(1),))),
        Batch(101, 2, 7, ValuesContent((b"one", b"two"))),
    )
    encoded = [bytes(encode_log_batch(batch, timestamp_ms=5)) for batch in sent]
    cut_off = b"".join(encoded) + encoded[0][:70]

    answer = decode_response(carry(encode_response(FetchResponse(QuorumError.NONE, 7, 1, 90), None, cut_off)))

    assert isinstance(answer.response, FetchResponse)
    assert answer.response.batches == (
        Batch(100, 1, 7, OpaqueContent(encoded[0], (KRaftVersionContent(1),))),
        Batch(101, 2, 7, OpaqueContent(encoded[1])),
    )


def test_a_damaged_batch_makes_the_whole_response_unusable() -> None:
    batch = bytearray(encode_log_batch(Batch(101, 1, 7, ValuesContent((b"one",))), timestamp_ms=5))
    batch[-1] ^= 1

    with pytest.raises(UnusableResponse, match="checksum"):
        decode_response(carry(encode_response(FetchResponse(QuorumError.NONE, 7, 1, 90), None, bytes(batch))))


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_a_request_of_another_cluster_is_refused_and_its_sender_hears_why(request_: RequestMessage) -> None:
    carried = carry(encode_request(request_, SENDER, max_bytes=1024))

    with pytest.raises(RefusedRequest) as refused:
        decode_request(carried, type(carried).VERSIONS.stop - 1, "another")
    refusal = carry(encode_refusal(carried, refused.value.code))

    assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
    with pytest.raises(UnusableResponse, match="INCONSISTENT_CLUSTER_ID"):
        decode_response(refusal)


@pytest.mark.parametrize(
    ("last_epoch", "is_pre_vote"), [(7, False), (8, True), (-1, False)], ids=["its own", "a later one", "none"]
)
def test_a_candidate_cannot_have_records_of_a_later_epoch(last_epoch: int, is_pre_vote: bool) -> None:
    vote = VoteRequest(7, ONE, TWO, OffsetAndEpoch(100, last_epoch), pre_vote=is_pre_vote)

    with pytest.raises(RefusedRequest) as refused:
        decode_request(encode_request(vote, SENDER, 0), 2, CLUSTER)

    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_request_about_another_topic_is_refused() -> None:
    wire = encode_request(REQUESTS[0], SENDER, 0)
    wire.topics[0].topic_name = "orders"  # type: ignore[attr-defined]

    with pytest.raises(RefusedRequest) as refused:
        decode_request(wire, 2, CLUSTER)

    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_error_that_raft_does_not_know_makes_a_response_unusable() -> None:
    wire = encode_response(RESPONSES[0], None)
    assert isinstance(wire, WireVoteResponse)
    wire.topics[0].partitions[0].error_code = ErrorCode.UNKNOWN_SERVER_ERROR

    with pytest.raises(UnusableResponse, match="UNKNOWN_SERVER_ERROR"):
        decode_response(wire)
