"""Coordinators on many brokers: each is found where it is, and no other broker answers in its place."""

from pathlib import Path
from typing import Any

from harness.paper_brokers import PATIENT, PaperBrokers
from harness.running_node import RunningNode, run_node
from harness.wire import WireClient
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC, TRANSACTION_TOPIC
from ottla.coordinator.partitioning import partition_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import add_partitions_to_txn_request as adding
from ottla.protocol.messages import offset_commit_request as committing
from ottla.protocol.messages import offset_fetch_request as fetching
from ottla.protocol.messages import txn_offset_commit_request as transactional
from ottla.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from ottla.protocol.messages.delete_groups_request import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups_request import DescribeGroupsRequest
from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest
from ottla.protocol.messages.sync_group_request import SyncGroupRequest

OWN, OTHER, THIRD, HIDDEN = 1, 2, 3, 4
BROKERS = (OWN, OTHER, THIRD, HIDDEN)
# By the broker that coordinates it.
KEYS = {
    broker_id: next(key for key in map(str, range(1000)) if partition_for(key, len(BROKERS)) == index)
    for index, broker_id in enumerate(BROKERS)
}


async def cluster_of(running: RunningNode) -> tuple[PaperBrokers, WireClient]:
    """Each of four brokers leads one partition of the internal topics; the last one has another listener."""
    brokers = PaperBrokers(running)
    await brokers.add(OTHER, port=2)
    await brokers.add(THIRD, port=3)
    await brokers.add(HIDDEN, listener="OTHER")
    for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
        await brokers.create_topic(topic, *([broker_id] for broker_id in BROKERS))
    await brokers.create_topic("t", [OWN])
    return brokers, await running.connect()


async def found(client: WireClient, key_type: int) -> list[tuple[str, int, int]]:
    """Error, broker and port for each key."""
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(KEYS.values()))
    answer: Any = await client.call(request)
    assert [row.key for row in answer.coordinators] == list(KEYS.values())
    return [(ErrorCode(row.error_code).name, row.node_id, row.port) for row in answer.coordinators]


def test_each_key_is_coordinated_by_the_leader_of_its_partition(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        brokers, client = await cluster_of(running)
        away = ("COORDINATOR_NOT_AVAILABLE", -1, -1)
        for key_type in (0, 1):
            assert await found(client, key_type) == [
                ("NONE", OWN, running.port),
                ("NONE", OTHER, 2),
                ("NONE", THIRD, 3),
                away,
            ]
        await brokers.beat(THIRD, fence=True)
        for key_type in (0, 1):
            assert (await found(client, key_type))[2] == away

    run_node(tmp_path, scenario, PATIENT)


def test_a_broker_answers_for_the_groups_that_it_coordinates_alone(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        _, client = await cluster_of(running)
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        for group, expected in ((KEYS[OTHER], "NOT_COORDINATOR"), (KEYS[OWN], "UNKNOWN_MEMBER_ID")):
            member = {"group_id": group, "member_id": "m", "generation_id": 1}
            join = JoinGroupRequest(
                group_id=group,
                member_id="m",
                session_timeout_ms=6000,
                rebalance_timeout_ms=6000,
                protocol_type="consumer",
                protocols=protocols,
            )
            sync = SyncGroupRequest(**member, protocol_type="consumer", protocol_name="range")
            for request in (join, sync, HeartbeatRequest(**member)):
                assert ErrorCode((await client.call(request)).error_code).name == expected, request
        group = KEYS[OTHER]
        partition = committing.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = committing.OffsetCommitRequestTopic(name="t", partitions=[partition])
        committed = await client.call(committing.OffsetCommitRequest(group_id=group, topics=[topic]), 9)
        assert committed.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        wanted = fetching.OffsetFetchRequestGroup(group_id=group, topics=None)
        fetched = await client.call(fetching.OffsetFetchRequest(groups=[wanted]), 9)
        assert fetched.groups[0].error_code == ErrorCode.NOT_COORDINATOR
        left = await client.call(LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id="m")]))
        assert left.error_code == ErrorCode.NOT_COORDINATOR
        described = await client.call(DescribeGroupsRequest(groups=[group, KEYS[OWN]]), 5)
        assert [row.error_code for row in described.groups] == [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]
        deleted = await client.call(DeleteGroupsRequest(groups_names=[group]))
        assert deleted.results[0].error_code == ErrorCode.NOT_COORDINATOR
        # Every broker lists its own.
        assert (await client.call(ListGroupsRequest())).error_code == ErrorCode.NONE

    run_node(tmp_path, scenario, PATIENT)


def test_a_broker_answers_for_the_transactions_that_it_coordinates_alone(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        _, client = await cluster_of(running)
        elsewhere = KEYS[OTHER]
        for key, expected in ((elsewhere, "NOT_COORDINATOR"), (KEYS[OWN], "NONE")):
            request = InitProducerIdRequest(transactional_id=key, transaction_timeout_ms=1000)
            assert ErrorCode((await client.call(request, 5)).error_code).name == expected
        # Without a transactional id, any broker gives one.
        assert (await client.call(InitProducerIdRequest(transactional_id=None))).error_code == ErrorCode.NONE
        topics = [adding.AddPartitionsToTxnTopic(name="t", partitions=[0])]
        request = adding.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=elsewhere, v3_and_below_producer_id=7, v3_and_below_topics=topics
        )
        added = await client.call(request, 3)
        (row,) = added.results_by_topic_v3_and_below[0].results_by_partition
        assert row.partition_error_code == ErrorCode.NOT_COORDINATOR
        offsets = AddOffsetsToTxnRequest(transactional_id=elsewhere, producer_id=7, group_id=KEYS[OWN])
        assert (await client.call(offsets)).error_code == ErrorCode.NOT_COORDINATOR
        end = EndTxnRequest(transactional_id=elsewhere, producer_id=7, committed=True)
        assert (await client.call(end, 5)).error_code == ErrorCode.NOT_COORDINATOR
        described = await client.call(DescribeTransactionsRequest(transactional_ids=[elsewhere, KEYS[OWN]]))
        assert [row.error_code for row in described.transaction_states] == [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]
        listed = await client.call(ListTransactionsRequest())
        assert [row.transactional_id for row in listed.transaction_states] == [KEYS[OWN]]

    run_node(tmp_path, scenario, PATIENT)


def test_a_group_hears_that_a_transactions_coordinator_is_away(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        _, client = await cluster_of(running)
        partition = transactional.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = transactional.TxnOffsetCommitRequest(
            transactional_id=KEYS[OTHER],
            group_id=KEYS[OWN],
            producer_id=7,
            producer_epoch=0,
            topics=[transactional.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        # Nobody listens at the address of the broker that coordinates it.
        (topic,) = (await client.call(request, 5)).topics
        assert topic.partitions[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    run_node(tmp_path, scenario, PATIENT)
