"""The network between the replicas of the metadata log: requests to other voters, and answers to theirs.

Guarantees
- Every request that raft sends ends in exactly one event: the response, or its failure. Whatever goes wrong on the way
  (nobody listens, the connection breaks, the peer is silent, its answer makes no sense) is a failure like any other;
  raft backs off and asks again.
- A long poll never holds up a vote. A peer answers the requests of one connection in their order, so each peer has two
  lanes, a connection each: one for Fetch and FetchSnapshot, one for everything else.
- Records leave only while this replica still leads the epoch in whose name they are sent. They are read in a thread,
  and meanwhile the log may have been truncated and continued by another leader.

A connection is opened at the first request and anew after it broke; while nobody answers, attempts get rarer, up to two
a second. Requests carry the cluster's id; one that belongs to another cluster, or that makes no sense, is answered
here, and raft does not see it (`wire`). Who is where is decided in `peer_addresses`. Nothing here survives a crash.
KIP-595, KIP-630, KIP-853.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import count
from typing import Final

from ottla.broker.lane import Lane
from ottla.broker.quorum.peer_addresses import PeerAddresses
from ottla.broker.quorum.transport import Replica, UnusableQuorum
from ottla.broker.quorum.wire import (
    Answer,
    ForeignCluster,
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
from ottla.broker.tasks import Tasks
from ottla.client.addresses import Address
from ottla.client.connection import close_all
from ottla.client.errors import BrokerUnreachable, ClientError, ConnectionRefused
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest as WireBeginQuorumEpochRequest
from ottla.protocol.messages.vote_request import VoteRequest as WireVoteRequest
from ottla.protocol.response_types import response_type
from ottla.protocol.schema import Message as WireMessage
from ottla.protocol.schema import Records
from ottla.raft import (
    QuorumSettings,
    ReplicaKey,
    Reply,
    Request,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    ServeFetch,
    ServeSnapshot,
    VoterEndpoint,
    VoterSet,
)
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumError,
    RequestMessage,
    ResponseMessage,
    VoteRequest,
)
from ottla.raft.ready import Message

logger = logging.getLogger("ottla.broker.quorum")

# As Kafka's controllers have it.
RECONNECT_BACKOFF_S: Final = 0.05
RECONNECT_BACKOFF_S_MAX: Final = 0.5


class QuorumNetwork:
    """The transport of a node that other nodes can reach, or that has to reach them."""

    def __init__(
        self,
        *,
        node_id: int,
        sender: Sender,
        listener_names: Sequence[str],
        settings: QuorumSettings,
        bootstrap: Sequence[Address] = (),
    ) -> None:
        """`sender` is this node, with the addresses of its own controller listeners."""
        self._node_id = node_id
        self._sender = sender
        self._settings = settings
        self._addresses = PeerAddresses(listener_names, bootstrap)
        self._replica: Replica
        self._tasks = Tasks()
        # By node, and whether it is the lane of long polls.
        self._lanes: dict[tuple[int, bool], Lane] = {}
        # Peers that did not answer their last request; what is wrong with them was logged.
        self._failing: set[int] = set()
        # Where nobody listened at the last attempt.
        self._refusing: set[Address] = set()
        self._waiting: dict[int, asyncio.Future[WireMessage]] = {}
        self._reply_ids = count()

    def attach(self, replica: Replica) -> None:
        self._replica = replica

    @property
    def bootstrap_ids(self) -> tuple[int, ...]:
        return self._addresses.bootstrap_ids

    def address_of(self, node_id: int) -> Address | None:
        return self._addresses.of(node_id, self._replica.voters)

    def is_gone(self, node_id: int) -> bool:
        return self.address_of(node_id) in self._refusing

    def check(self, local: ReplicaKey, voters: VoterSet) -> None:
        for key in voters.others(local):
            if self._addresses.of(key.id, voters) is None:
                raise UnusableQuorum(
                    f"voter {key.id} has no address: name it with HOST:PORT in controller.quorum.voters, or in "
                    "--initial-controllers when the storage is formatted"
                )

    async def stop(self) -> None:
        await self._tasks.cancel_all()
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "The node is shutting down"))
        await close_all([lane.connection for lane in self._lanes.values() if lane.connection is not None])

    def send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if isinstance(message, Request):
                self._tasks.start_background("a request of the quorum", self._ask(message))
            elif isinstance(message, Reply):
                self._reply(message.reply_to, message.message)
            elif isinstance(message, ServeFetch):
                self._tasks.start_background("an answer to a fetch", self._serve_fetch(message))
            else:
                self._tasks.start_background("an answer with a snapshot", self._serve_snapshot(message))

    # --- requests to peers ----------------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> None:
        try:
            answer = await self._exchange(request.to_id, request.message)
        except Exception as error:  # noqa: BLE001 - raft must hear of every failure, or it would wait in vain
            self._note_failure(request.to_id, error)
            if isinstance(error, ForeignCluster):
                self._replica.met_foreign_cluster(self._name(request.to_id), self._sender.cluster_id)
            is_refused = isinstance(error, ConnectionRefused)
            self._replica.receive(RequestFailed(request.to_id, request.correlation_id, is_refused))
            return
        if request.to_id in self._failing:
            self._failing.discard(request.to_id)
            logger.info("%s answers again", self._name(request.to_id))
        self._addresses.learn(answer.addresses)
        self._replica.receive(ResponseReceived(request.to_id, request.correlation_id, answer.response))

    async def _exchange(self, peer_id: int, message: RequestMessage) -> Answer:
        address = self._addresses.of(peer_id, self._replica.voters)
        if address is None:
            raise BrokerUnreachable("nobody has told its address")
        settings = self._settings
        is_long_poll = isinstance(message, FetchRequest | FetchSnapshotRequest)
        timeout_ms = settings.request_timeout_ms + (message.max_wait_ms if isinstance(message, FetchRequest) else 0)
        is_snapshot = isinstance(message, FetchSnapshotRequest)
        max_bytes = settings.fetch_snapshot_max_bytes if is_snapshot else settings.fetch_max_bytes
        try:
            connection = await self._lane(peer_id, is_long_poll).connected(address, settings.request_timeout_ms / 1000)
        except BrokerUnreachable as error:
            if isinstance(error, ConnectionRefused):
                self._refusing.add(address)
            self._addresses.forget(peer_id, address)
            raise
        self._refusing.discard(address)
        if not connection.versions.serves(WireVoteRequest):
            raise UnusableResponse(f"{address} is not a listener of controllers: correct the address in the settings")
        wire_request = encode_request(message, self._sender, max_bytes)
        response = await connection.request(wire_request, response_type(type(wire_request)), timeout_ms=timeout_ms)
        return decode_response(response, is_pre_vote=isinstance(message, VoteRequest) and message.pre_vote)

    def _lane(self, peer_id: int, is_long_poll: bool) -> Lane:
        lane = self._lanes.get((peer_id, is_long_poll))
        if lane is None:
            lane = self._lanes[peer_id, is_long_poll] = Lane(
                f"quorum-{self._node_id}", backoff_s=RECONNECT_BACKOFF_S, backoff_s_max=RECONNECT_BACKOFF_S_MAX
            )
        return lane

    def _note_failure(self, peer_id: int, error: Exception) -> None:
        if not isinstance(error, ClientError | UnusableResponse):
            logger.error("A request to %s failed", self._name(peer_id), exc_info=error)
        elif peer_id not in self._failing:
            logger.warning("%s does not answer: %s", self._name(peer_id), error)
        self._failing.add(peer_id)

    def _name(self, peer_id: int) -> str:
        return f"Voter {peer_id}" if peer_id >= 0 else f"The controller at {self.address_of(peer_id)}"

    # --- requests of peers ----------------------------------------------------------------------------------------

    async def respond(self, request: WireMessage, api_version: int) -> WireMessage:
        try:
            asked = decode_request(request, api_version, self._sender.cluster_id)
        except RefusedRequest as refused:
            return encode_refusal(request, refused.code)
        if isinstance(request, WireBeginQuorumEpochRequest) and isinstance(asked, BeginQuorumEpochRequest):
            self._learn_leader(asked.leader_id, request)
        reply: asyncio.Future[WireMessage] = asyncio.get_running_loop().create_future()
        reply_to = next(self._reply_ids)
        self._waiting[reply_to] = reply
        try:
            self._replica.receive(RequestReceived(asked, reply_to))
            return await reply
        finally:
            del self._waiting[reply_to]

    def _learn_leader(self, leader_id: int, request: WireBeginQuorumEpochRequest) -> None:
        told = [VoterEndpoint(end.name, end.host, end.port) for end in request.leader_endpoints]
        if (address := self._addresses.choose(told)) is not None:
            self._addresses.learn([NodeAddress(leader_id, address.host, address.port)])

    def _reply(self, reply_to: object, response: ResponseMessage, records: Records = b"") -> None:
        reply = self._waiting.get(reply_to) if isinstance(reply_to, int) else None
        # If the connection is gone, nobody waits any more.
        if reply is not None and not reply.done():
            reply.set_result(encode_response(response, self._address_of(response.leader_id), records))

    def _address_of(self, leader_id: int | None) -> NodeAddress | None:
        if leader_id is None:
            return None
        is_own = leader_id == self._node_id
        address = self._addresses.choose(self._sender.endpoints) if is_own else self.address_of(leader_id)
        return None if address is None else NodeAddress(leader_id, address.host, address.port)

    async def _serve_fetch(self, serve: ServeFetch) -> None:
        records: Records = b""
        if serve.end_offset > serve.from_offset:
            try:
                records = await self._replica.read_records(serve.from_offset, serve.end_offset, serve.max_bytes)
            except Exception as failure:  # noqa: BLE001 - whoever fetches asks again
                self._fail_reply(serve.reply_to, failure)
                return
        if self._replica.leader_epoch == serve.epoch:
            response = FetchResponse(QuorumError.NONE, serve.epoch, serve.leader_id, serve.high_watermark)
            self._reply(serve.reply_to, response, records)
        else:
            refusal = FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, serve.epoch, serve.leader_id)
            self._reply(serve.reply_to, refusal)

    async def _serve_snapshot(self, serve: ServeSnapshot) -> None:
        try:
            piece = await self._replica.read_snapshot(serve.snapshot, serve.position, serve.max_bytes)
        except Exception as failure:  # noqa: BLE001 - as above
            self._fail_reply(serve.reply_to, failure)
            return
        error, data, size_bytes = QuorumError.NONE, b"", 0
        if piece is None:
            error = QuorumError.SNAPSHOT_NOT_FOUND
        elif serve.position >= piece.size_bytes:
            error = QuorumError.POSITION_OUT_OF_RANGE
        else:
            data, size_bytes = bytes(piece.data), piece.size_bytes
        response = FetchSnapshotResponse(
            error, serve.epoch, serve.leader_id, serve.snapshot, size_bytes, serve.position, data
        )
        self._reply(serve.reply_to, response)

    def _fail_reply(self, reply_to: object, failure: Exception) -> None:
        logger.error("A follower of the metadata cannot be served: %s", failure)
        reply = self._waiting.get(reply_to) if isinstance(reply_to, int) else None
        if reply is not None and not reply.done():
            reply.set_exception(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)))
