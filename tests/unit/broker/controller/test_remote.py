"""Brokers whose controller is on another node, in one event loop."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from harness.loop_cluster import LoopCluster, run_cluster
from ottla.broker.controller.controller import OwnRequest
from ottla.broker.controller.remote import ActiveControllerFinder
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.broker.requests.request_context import CloseConnection
from ottla.client.addresses import Address
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData

pytestmark = pytest.mark.timeout(60)


def create(name: str, replication_factor: int = 1) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=2, replication_factor=replication_factor)
    return CreateTopicsRequest(topics=[topic], timeout_ms=20_000)


def finder(cluster: LoopCluster, broker_id: int) -> ActiveControllerFinder:
    found = cluster.nodes[broker_id]._finder
    assert found is not None
    return found


@pytest.mark.parametrize("is_static", [True, False], ids=["voters-in-settings", "voters-formatted"])
def test_a_client_that_created_a_topic_finds_it_on_the_broker_that_it_asked(tmp_path: Path, *, is_static: bool) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        client = await cluster.connect(101)
        for number in range(5):
            response = await client.call(create(f"t{number}"), 7)
            assert [row.error_code for row in response.topics] == [ErrorCode.NONE]
            assert cluster.nodes[101].broker.dispatcher.services.image.topics.by_name(f"t{number}") is not None
        refused = await client.call(create("big", replication_factor=3), 7)
        assert refused.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert "big" not in {topic.name for topic in cluster.nodes[1]._log.image.topics}
        await client.close()

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=2, is_static=is_static), scenario)


def test_requests_find_the_next_controller_when_the_active_one_stops(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        former = await cluster.active_controller()
        client = await cluster.connect(101)
        assert (await client.call(create("before"), 7)).topics[0].error_code == ErrorCode.NONE
        _, response = await asyncio.gather(cluster.stop(former), client.call(create("meanwhile"), 7))
        # Asked twice, it was already there the second time.
        assert response.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        assert (await client.call(create("after"), 7)).topics[0].error_code == ErrorCode.NONE
        assert await cluster.active_controller() != former
        await client.close()

    run_cluster(LoopCluster(tmp_path, controllers=3, brokers=1), scenario)


def test_a_node_that_is_both_asks_itself_while_it_is_active_and_others_otherwise(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        active = await cluster.active_controller()
        for broker_id in cluster.nodes:
            client = await cluster.connect(broker_id)
            response = await client.call(create(f"t{broker_id}"), 7)
            assert response.topics[0].error_code == ErrorCode.NONE
            await client.close()
            assert (finder(cluster, broker_id).versions is None) is (broker_id == active)

    run_cluster(LoopCluster(tmp_path, brokers=3), scenario)


def test_a_broker_asks_for_itself_and_hears_the_refusal(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        broker = cluster.nodes[101].broker
        assert broker is not None
        request = AllocateProducerIdsRequest(broker_id=101, broker_epoch=broker._lifecycle.broker_epoch)
        block = await finder(cluster, 101).handle(OwnRequest.of(request), request)
        assert isinstance(block, AllocateProducerIdsResponse)
        assert block.producer_id_len == 1000
        request.broker_epoch -= 1
        with pytest.raises(ApiError) as refusal:
            await finder(cluster, 101).handle(OwnRequest.of(request), request)
        assert refusal.value.code is ErrorCode.STALE_BROKER_EPOCH

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario)


def test_a_broker_tells_what_only_the_leader_of_the_quorum_knows(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        client = await cluster.connect(101)
        topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        response = await client.call(DescribeQuorumRequest(topics=[topic]), 2)
        (partition,) = response.topics[0].partitions
        assert partition.leader_id == 1
        assert [replica.replica_id for replica in partition.observers] == [101]
        await client.close()

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario)


def test_without_a_controller_a_request_ends_with_its_time(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        await cluster.stop(1)
        request = create("t")
        request.timeout_ms = 200
        with pytest.raises(ApiError) as refusal:
            await finder(cluster, 101).handle(OwnRequest.of(request), request)
        assert refusal.value.code is ErrorCode.REQUEST_TIMED_OUT
        await cluster.start(1)

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario)


def test_a_request_that_is_given_up_leaves_no_task_behind() -> None:
    async def silent(*asked: object) -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        log = SimpleNamespace(leader_id=2, leader_address=Address("elsewhere", 9093), leader_change=asyncio.Event())
        asking = ActiveControllerFinder(cast(MetadataLog, log), None, node_id=1)
        asking._send = silent
        for timeout_s, patience_s in ((0.02, None), (30.0, 0.02)):
            request = create("t")
            asked = asyncio.ensure_future(asking.handle(OwnRequest.of(request, timeout_s), request))
            await asyncio.wait((asked,), timeout=patience_s)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            await asyncio.sleep(0)
            assert len(asyncio.all_tasks()) == 1, "nobody but the test itself"

    asyncio.run(scenario())


def test_a_version_that_the_controller_lacks_ends_the_clients_connection(tmp_path: Path) -> None:
    async def scenario(cluster: LoopCluster) -> None:
        await cluster.start_all()
        client = await cluster.connect(101)
        assert (await client.call(create("t"), 7)).topics[0].error_code == ErrorCode.NONE
        versions = finder(cluster, 101).versions
        assert isinstance(versions, dict)
        versions[19] = (2, 6)
        context = type("Origin", (), {"api_version": 7, "principal": "User:x", "client_host": "::1"})()
        with pytest.raises(CloseConnection):
            await finder(cluster, 101).handle(context, create("u"))
        client.send(create("u"), 7)
        assert await client.is_closed_by_peer()
        await client.close()
        # Then it asks again which versions there are.
        client = await cluster.connect(101)
        asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        offered = {row.api_key: (row.min_version, row.max_version) for row in (await client.call(asked, 4)).api_keys}
        assert offered[ApiKey.CREATE_TOPICS] == (2, 6)
        assert offered[ApiKey.METADATA][1] == 13
        del versions[19]
        offered = {row.api_key: (row.min_version, row.max_version) for row in (await client.call(asked, 4)).api_keys}
        assert ApiKey.CREATE_TOPICS not in offered
        await client.close()

    run_cluster(LoopCluster(tmp_path, controllers=1, brokers=1), scenario)
