"""Metadata and DescribeCluster of a cluster with many brokers, as each listener sees it."""

from pathlib import Path
from typing import Any

import pytest

from harness.paper_brokers import PATIENT, PaperBrokers
from harness.running_node import RunningNode, run_node
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic

OWN = 1


async def cluster_of(running: RunningNode) -> tuple[PaperBrokers, WireClient]:
    """Brokers 1, 2 and 3 are there; 4 is fenced; 5 has another listener."""
    brokers = PaperBrokers(running)
    await brokers.add(2, port=2, rack="r2")
    await brokers.add(3, port=3)
    await brokers.add(4)
    await brokers.add(5, listener="OTHER")
    return brokers, await running.connect()


async def partitions(client: WireClient, version: int) -> list[tuple[Any, ...]]:
    """Error, leader, replicas and in-sync replicas of each partition of topic t."""
    (topic,) = (await client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), version)).topics
    return [
        (ErrorCode(row.error_code).name, row.leader_id, row.replica_nodes, row.isr_nodes) for row in topic.partitions
    ]


def test_brokers_that_are_alive_are_named_with_their_address_on_the_clients_listener(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        await brokers.beat(4, fence=True)
        answer = await client.call(MetadataRequest(topics=[]))
        named = [(broker.node_id, broker.port, broker.rack) for broker in answer.brokers]
        assert named == [(OWN, running.port, None), (2, 2, "r2"), (3, 3, None)]
        described = await client.call(DescribeClusterRequest())
        assert [(one.broker_id, one.port, one.rack) for one in described.brokers] == named
        described = await client.call(DescribeClusterRequest(include_fenced_brokers=True))
        assert [(one.broker_id, one.is_fenced) for one in described.brokers] == [
            (OWN, False),
            (2, False),
            (3, False),
            (4, True),
        ]

    run_node(tmp_path, scenario, PATIENT)


def test_any_broker_that_the_client_can_reach_is_named_as_controller(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        await brokers.beat(4, fence=True)
        named = {(await client.call(MetadataRequest(topics=[]))).controller_id for _ in range(200)}
        assert named == {1, 2, 3}
        request = DescribeClusterRequest(include_fenced_brokers=True)
        assert {(await client.call(request)).controller_id for _ in range(200)} == {1, 2, 3}

    run_node(tmp_path, scenario, PATIENT)


@pytest.mark.parametrize(
    ("version", "hidden_leader"), [(13, "LISTENER_NOT_FOUND"), (6, "LISTENER_NOT_FOUND"), (5, "LEADER_NOT_AVAILABLE")]
)
def test_partitions_are_shown_with_a_leader_that_the_client_can_reach_or_none(
    tmp_path: Path, version: int, hidden_leader: str
) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        await brokers.create_topic("t", [1], [2], [4], [5])
        await brokers.beat(4, fence=True)
        assert await partitions(client, version) == [
            ("NONE", 1, [1], [1]),
            ("NONE", 2, [2], [2]),
            ("LEADER_NOT_AVAILABLE", -1, [4], []),
            (hidden_leader, -1, [5], [5]),
        ]

    run_node(tmp_path, scenario, PATIENT)


def test_the_oldest_clients_see_the_replicas_that_they_can_reach(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        await brokers.create_topic("t", [2, 5], [1, 3], [1, 4])
        await brokers.beat(4, fence=True)
        assert await partitions(client, 0) == [
            ("REPLICA_NOT_AVAILABLE", 2, [2], [2]),
            ("NONE", 1, [1, 3], [1, 3]),
            ("REPLICA_NOT_AVAILABLE", 1, [1], [1]),
        ]

    run_node(tmp_path, scenario, PATIENT)


def test_offline_replicas_are_those_of_brokers_that_are_away_for_the_client(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        await brokers.create_topic("t", [1, 4, 5])
        await brokers.beat(4, fence=True)
        (topic,) = (await client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]))).topics
        assert topic.partitions[0].offline_replicas == [4, 5]
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")])
        (described,) = (await client.call(request)).topics
        assert described.partitions[0].offline_replicas == [4, 5]
        assert (described.partitions[0].leader_id, described.partitions[0].error_code) == (1, ErrorCode.NONE)

    run_node(tmp_path, scenario, PATIENT)
