"""Controllers that talk to each other over real connections."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from harness.controllers import CLUSTER_ID, Controllers
from harness.waiting import eventually_async
from ottla.broker.node import Node
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.client.addresses import Address
from ottla.client.connection import Connection, open_connection
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterResponse
from ottla.protocol.messages.fetch_snapshot_request import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from ottla.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.vote_request import VoteRequest
from ottla.protocol.messages.vote_response import VoteResponse

pytestmark = pytest.mark.timeout(60)

QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}
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
        asked = VoteRequest(cluster_id="another", voter_id=1, topics=[])
        assert (await connection.request(asked, VoteResponse)).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        asked.cluster_id = CLUSTER_ID
        assert (await connection.request(asked, VoteResponse)).error_code == ErrorCode.INVALID_REQUEST
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


def test_a_snapshot_that_is_gone_and_a_position_beyond_it_have_errors_of_their_own(tmp_path: Path) -> None:
    async def scenario(quorum: Quorum) -> None:
        await quorum.start(1)
        await quorum.leader()
        connection = await quorum.connect(1)

        async def fetch(end_offset: int, position: int) -> int:
            partition = PartitionSnapshot(
                partition=0,
                current_leader_epoch=quorum.log(1).leader_epoch or 0,
                snapshot_id=SnapshotId(end_offset=end_offset, epoch=0),
                position=position,
            )
            topic = TopicSnapshot(name="__cluster_metadata", partitions=[partition])
            asked = FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=9, max_bytes=1000, topics=[topic])
            answer = await connection.request(asked, FetchSnapshotResponse)
            return answer.topics[0].partitions[0].error_code

        assert await fetch(0, 0) == ErrorCode.NONE
        assert await fetch(0, 1_000_000) == ErrorCode.POSITION_OUT_OF_RANGE
        assert await fetch(77, 0) == ErrorCode.SNAPSHOT_NOT_FOUND
        await connection.close()

    run(Controllers(tmp_path, is_static=False, count=1, settings=QUICK), scenario)
