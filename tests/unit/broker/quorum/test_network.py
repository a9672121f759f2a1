"""Controllers that talk to each other over real connections."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from harness.controllers import CLUSTER_ID, Controllers
from harness.ports import free_port
from harness.waiting import eventually_async
from ottla.broker.node import Node
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.broker.quorum.network import QuorumNetwork
from ottla.broker.quorum.snapshot_files import SnapshotPiece
from ottla.broker.quorum.wire import Sender, decode_response, encode_request
from ottla.client.addresses import Address
from ottla.client.connection import Connection, open_connection
from ottla.metadata.controller.controllers import registered_controllers
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages import fetch_snapshot_request, vote_request, vote_response
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterResponse
from ottla.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.raft import (
    OffsetAndEpoch,
    QuorumSettings,
    ReplicaKey,
    Request,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    ServeFetch,
    ServeSnapshot,
    Voter,
    VoterEndpoint,
    VoterSet,
)
from ottla.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    QuorumError,
    VoteRequest,
    VoteResponse,
)

pytestmark = pytest.mark.timeout(60)

QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}
T = TypeVar("T")
Scenario = Callable[["Quorum"], Awaitable[None]]


class Quorum:
    """Controllers in one event loop."""

    def __init__(self, controllers: Controllers) -> None:
        self.controllers = controllers
        self.nodes: dict[int, Node] = {}

    async def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            node = Node(self.controllers.config(node_id))
            await node.start()
            self.nodes[node_id] = node

    async def stop(self, *node_ids: int) -> None:
        for node_id in node_ids:
            await self.nodes.pop(node_id).stop()

    def log(self, node_id: int) -> MetadataLog:
        log = self.nodes[node_id]._log
        assert log is not None
        return log

    async def leader(self) -> int:
        """The active controller, once there is one that all follow."""

        async def look() -> set[int | None]:
            active = {i for i, node in self.nodes.items() if node._controller and node._controller.is_active}
            return active if {self.log(i).leader_id for i in self.nodes} == active else set()

        (leader_id,) = await eventually_async(look)
        assert leader_id is not None
        return leader_id

    async def create_topic(self, name: str) -> None:
        """Decided by the leader, and in the image of every node that runs."""
        controller = self.nodes[await self.leader()]._controller
        assert controller is not None
        record = TopicRecord(name=name, topic_id=name.encode().ljust(16))
        await controller.submit(lambda image: Decision([record], None))
        for node_id in self.nodes:
            await self.has_topic(node_id, name)

    async def has_topic(self, node_id: int, name: str) -> None:
        async def look() -> ClusterImage:
            return self.log(node_id).image

        await eventually_async(look, lambda image: image.topics.by_name(name) is not None)

    async def connect(self, node_id: int) -> Connection:
        return await open_connection(Address("127.0.0.1", self.controllers.ports[node_id]), client_id="test")


def run(controllers: Controllers, scenario: Scenario) -> None:
    async def play() -> None:
        quorum = Quorum(controllers)
        try:
            await scenario(quorum)
        finally:
            await quorum.stop(*quorum.nodes)

    controllers.format_all()
    asyncio.run(play())


@pytest.mark.parametrize("is_static", [True, False])
def test_controllers_elect_one_of_them_and_all_follow_its_decisions(tmp_path: Path, *, is_static: bool) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1, 2, 3)
        await quorum.create_topic("a")
        assert {quorum.log(i).kraft_version for i in quorum.nodes} == {0 if is_static else 1}

    run(Controllers(tmp_path, is_static=is_static, settings=QUICK), scenario)


def test_a_leader_that_is_stopped_hands_over_and_follows_when_it_is_back(tmp_path: Path) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1, 2, 3)
        await quorum.create_topic("a")
        former = await quorum.leader()
        await quorum.stop(former)
        assert await quorum.leader() != former
        await quorum.create_topic("b")
        await quorum.start(former)
        await quorum.has_topic(former, "b")
        await quorum.create_topic("c")

    # Whoever had to wait for the leader's silence would wait for an hour.
    patient = {"controller.quorum.fetch.timeout.ms": "3600000"}
    run(Controllers(tmp_path, is_static=False, settings=QUICK | patient), scenario)


def test_a_replica_far_behind_gets_a_snapshot(tmp_path: Path) -> None:
    settings = QUICK | {
        "metadata.log.max.record.bytes.between.snapshots": "300",
        "metadata.max.retention.bytes": "1",
        "metadata.log.segment.bytes": "8388608",
        "controller.quorum.fetch.snapshot.max.bytes": "100",
    }

    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1, 2)
        for number in range(12):
            await quorum.create_topic(f"topic-{number}")
        await quorum.start(3)
        await quorum.has_topic(3, "topic-11")
        assert quorum.log(3)._log.start_offset > 0, "the records before it came as a snapshot"
        await quorum.create_topic("the last")
        assert {topic.name for topic in quorum.log(3).image.topics} == {
            "the last",
            *(f"topic-{number}" for number in range(12)),
        }

    run(Controllers(tmp_path, is_static=False, settings=settings), scenario)


def test_a_node_of_another_cluster_gets_no_vote(tmp_path: Path) -> None:
    controllers = Controllers(tmp_path, is_static=True, settings=QUICK)

    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1)
        connection = await quorum.connect(1)
        asked = vote_request.VoteRequest(cluster_id="another", voter_id=1, topics=[])
        answer = await connection.request(asked, vote_response.VoteResponse)
        assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        asked.cluster_id = CLUSTER_ID
        answer = await connection.request(asked, vote_response.VoteResponse)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        await connection.close()

    run(controllers, scenario)


def test_the_cluster_as_its_controllers_describe_it(tmp_path: Path) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1, 2, 3)
        leader_id = await quorum.leader()
        for node_id in quorum.nodes:
            connection = await quorum.connect(node_id)
            described = await connection.request(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse)
            assert (described.cluster_id, described.controller_id) == (CLUSTER_ID, leader_id)
            assert {row.broker_id: row.port for row in described.brokers} == quorum.controllers.ports
            mismatched = await connection.request(DescribeClusterRequest(endpoint_type=1), DescribeClusterResponse)
            assert mismatched.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
            await connection.close()

    run(Controllers(tmp_path, is_static=False, settings=QUICK), scenario)


class Replica:
    """Hears what a network reports, and has the records that a test wants."""

    def __init__(self, *voters: tuple[int, int]) -> None:
        endpoints = {node_id: (VoterEndpoint("CONTROLLER", "127.0.0.1", port),) for node_id, port in voters}
        self.voters = VoterSet(tuple(Voter(ReplicaKey(node_id), found) for node_id, found in endpoints.items()))
        self.leader_epoch: int | None = 7
        self.events: asyncio.Queue[RequestReceived | ResponseReceived | RequestFailed] = asyncio.Queue()
        self.reads: asyncio.Queue[asyncio.Future[bytes]] = asyncio.Queue()

    def receive(self, event: RequestReceived | ResponseReceived | RequestFailed) -> None:
        self.events.put_nowait(event)

    def met_foreign_cluster(self, whom: str, cluster_id: str) -> None:
        raise AssertionError(f"{whom} belongs to another cluster")

    async def read_records(self, from_offset: int, end_offset: int, max_bytes: int) -> bytes:
        reading: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.reads.put_nowait(reading)
        return await reading

    async def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, max_bytes: int) -> SnapshotPiece | None:
        raise OSError(5, "the disk is broken")


async def as_awaitable(found: T) -> T:
    return found


def network_of(replica: Replica, node_id: int = 1) -> QuorumNetwork:
    network = QuorumNetwork(
        node_id=node_id,
        sender=Sender(CLUSTER_ID, (VoterEndpoint("CONTROLLER", "here", 9093),)),
        listener_names=("CONTROLLER",),
        settings=QuorumSettings(request_timeout_ms=10_000),
    )
    network.check(ReplicaKey(node_id), replica.voters)
    network.attach(replica)
    return network


PRE_VOTE = VoteRequest(0, ReplicaKey(1), ReplicaKey(2), OffsetAndEpoch(0, 0), pre_vote=True)


def test_a_request_fails_when_nobody_answers_it_or_the_answer_makes_no_sense() -> None:
    async def scenario() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        replica = Replica((1, 1), (2, free_port()), (3, port))
        network = network_of(replica)
        network.send([Request(2, 11, PRE_VOTE), Request(3, 12, PRE_VOTE), Request(4, 13, PRE_VOTE)])
        failed = {await replica.events.get() for _ in range(3)}
        assert failed == {RequestFailed(2, 11, is_refused=True), RequestFailed(3, 12), RequestFailed(4, 13)}
        network.send([Request(2, 14, PRE_VOTE)])
        assert await replica.events.get() == RequestFailed(2, 14, is_refused=True), "nobody is there yet"
        await network.stop()
        server.close()
        await server.wait_closed()

    asyncio.run(scenario())


def test_a_fetch_that_waits_holds_up_no_vote(tmp_path: Path) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1)
        await quorum.leader()
        log = quorum.log(1)
        # The last record that the controller writes by itself.
        await eventually_async(lambda: as_awaitable(list(registered_controllers(log.image))))
        replica = Replica((1, quorum.controllers.ports[1]), (9, 9))
        network = network_of(replica, node_id=9)
        observer = ReplicaKey(9, b"directory nine..")
        epoch, end_offset = log.leader_epoch or 0, log.end_offset
        fetch = FetchRequest(epoch, observer, end_offset, epoch, log.committed_offset, max_wait_ms=3_600_000)
        network.send([Request(1, 1, fetch)])
        await eventually_async(lambda: as_awaitable(log.describe().observers))
        pre_vote = VoteRequest(epoch, observer, log.local, OffsetAndEpoch(end_offset, epoch), pre_vote=True)
        network.send([Request(1, 2, pre_vote)])
        answered = await replica.events.get()
        assert isinstance(answered, ResponseReceived)
        assert isinstance(answered.response, VoteResponse), "the fetch still waits"
        await quorum.create_topic("a")
        answered = await replica.events.get()
        assert isinstance(answered, ResponseReceived)
        assert isinstance(answered.response, FetchResponse)
        assert [batch.base_offset for batch in answered.response.batches] == [end_offset]
        await network.stop()

    quiet = {"metadata.max.idle.interval.ms": "0"}
    run(Controllers(tmp_path, is_static=False, count=1, settings=QUICK | quiet), scenario)


def test_records_read_for_a_lead_that_is_over_do_not_leave() -> None:
    async def scenario() -> None:
        replica = Replica((1, 1), (2, 2))
        network = network_of(replica)
        fetch = encode_request(FetchRequest(7, ReplicaKey(2), 0, 0, -1, 500), Sender(CLUSTER_ID), 1000)
        answering = asyncio.create_task(network.respond(fetch, type(fetch).VERSIONS.stop - 1))
        asked = await replica.events.get()
        assert isinstance(asked, RequestReceived)
        network.send([ServeFetch(asked.reply_to, 7, 1, 3, from_offset=0, end_offset=5, max_bytes=1000)])
        reading = await replica.reads.get()
        # Meanwhile another leader may have written something else there.
        replica.leader_epoch = None
        reading.set_result(b"records of whoever leads now")
        answer = decode_response(await answering).response
        assert isinstance(answer, FetchResponse)
        assert (answer.error, answer.batches) == (QuorumError.NOT_LEADER_OR_FOLLOWER, ())
        await network.stop()

    asyncio.run(scenario())


def test_a_snapshot_that_cannot_be_read_is_an_error_for_whoever_asked() -> None:
    async def scenario() -> None:
        replica = Replica((1, 1), (2, 2))
        network = network_of(replica)
        snapshot = OffsetAndEpoch(5, 1)
        fetch = encode_request(FetchSnapshotRequest(7, ReplicaKey(2), snapshot, 0), Sender(CLUSTER_ID), 1000)
        answering = asyncio.create_task(network.respond(fetch, 1))
        asked = await replica.events.get()
        assert isinstance(asked, RequestReceived)
        network.send([ServeSnapshot(asked.reply_to, 7, 1, snapshot, position=0, max_bytes=1000)])
        with pytest.raises(ApiError, match="the disk is broken"):
            await answering
        await network.stop()

    asyncio.run(scenario())


def test_a_snapshot_that_is_gone_and_a_position_beyond_it_have_errors_of_their_own(tmp_path: Path) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1)
        await quorum.leader()
        connection = await quorum.connect(1)

        async def fetch(end_offset: int, position: int) -> int:
            partition = fetch_snapshot_request.PartitionSnapshot(
                partition=0,
                current_leader_epoch=quorum.log(1).leader_epoch or 0,
                snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=end_offset, epoch=0),
                position=position,
            )
            topic = fetch_snapshot_request.TopicSnapshot(name="__cluster_metadata", partitions=[partition])
            asked = fetch_snapshot_request.FetchSnapshotRequest(
                cluster_id=CLUSTER_ID, replica_id=9, max_bytes=1000, topics=[topic]
            )
            answer = await connection.request(asked, FetchSnapshotResponse)
            return answer.topics[0].partitions[0].error_code

        assert await fetch(0, 0) == ErrorCode.NONE
        assert await fetch(0, 1_000_000) == ErrorCode.POSITION_OUT_OF_RANGE
        assert await fetch(77, 0) == ErrorCode.SNAPSHOT_NOT_FOUND
        await connection.close()

    run(Controllers(tmp_path, is_static=False, count=1, settings=QUICK), scenario)
