"""What becomes of the shards of partitions whose disk fails."""

import asyncio
from pathlib import Path

from harness.running_node import RunningNode, run_node
from harness.transaction_wire import TransactionWire
from harness.wire import WireClient
from ottla.broker.groups.offsets_topic import OFFSETS_TOPIC
from ottla.broker.transactions.state_topic import TRANSACTION_TOPIC
from ottla.coordinator.partitioning import partition_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_groups_request import DescribeGroupsRequest
from ottla.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_transactions_request import ListTransactionsRequest
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.storage.errors import StorageError

PARTITIONS = 4
SETTINGS = {"offsets.topic.num.partitions": str(PARTITIONS), "transaction.state.log.num.partitions": str(PARTITIONS)}
NAMES = [f"name-{number}" for number in range(20)]


class TwoDisks:
    """A node with two directories of which one fails, and keys of coordinators on each of them."""

    def __init__(self, running: RunningNode, client: WireClient) -> None:
        self.replicas = running.node.replicas
        self.client = client
        self.failing = self.replicas.logs.directories[1]

    def key(self, topic: str, *, is_doomed: bool) -> str:
        def is_on_failing_disk(key: str) -> bool:
            return self.replicas.logs.directory_of(topic, partition_for(key, PARTITIONS)) is self.failing

        return next(key for key in NAMES if is_on_failing_disk(key) is is_doomed)

    async def fail(self) -> None:
        path = self.failing.path
        self.replicas.disk_failed(StorageError(path, "sync", path / "file", "broken"))
        await asyncio.sleep(0)

    async def committed(self, group: str) -> tuple[int, int | None]:
        topic = OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
        asked = OffsetFetchRequestGroup(group_id=group, topics=[topic])
        (row,) = (await self.client.call(OffsetFetchRequest(groups=[asked]), 9)).groups
        return row.error_code, row.topics[0].partitions[0].committed_offset if row.topics else None

    async def found(self, key: str, key_type: int) -> int:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        code: int = (await self.client.call(request)).coordinators[0].error_code
        return code


def test_groups_of_a_failed_disk_are_not_answered_from_memory(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        disks = TwoDisks(running, client)
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
        wire = TransactionWire(client)
        await wire.prepare_group("first", "orders")
        doomed, safe = (disks.key(OFFSETS_TOPIC, is_doomed=is_doomed) for is_doomed in (True, False))
        for group in (doomed, safe):
            await wire.prepare_group(group, "orders")
        join = JoinGroupRequest(
            group_id=doomed,
            session_timeout_ms=6000,
            rebalance_timeout_ms=6000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        member_id = (await client.call(join)).member_id
        assert await disks.committed(doomed) == (ErrorCode.NONE, 0)

        await disks.fail()

        assert await disks.committed(doomed) == (ErrorCode.NOT_COORDINATOR, None)
        (described,) = (await client.call(DescribeGroupsRequest(groups=[doomed]))).groups
        assert described.error_code == ErrorCode.NOT_COORDINATOR
        heartbeat = HeartbeatRequest(group_id=doomed, generation_id=1, member_id=member_id)
        assert (await client.call(heartbeat)).error_code == ErrorCode.NOT_COORDINATOR
        assert (await client.call(join)).error_code == ErrorCode.NOT_COORDINATOR
        listed = await client.call(ListGroupsRequest())
        assert listed.error_code == ErrorCode.NONE
        names = {group.group_id for group in listed.groups}
        assert safe in names
        assert doomed not in names
        assert await disks.found(doomed, 0) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        # The other disk's groups notice nothing.
        assert await disks.found(safe, 0) == ErrorCode.NONE
        assert await disks.committed(safe) == (ErrorCode.NONE, 0)
        await wire.prepare_group(safe, "orders")

    run_node(tmp_path / "data", scenario, SETTINGS | {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})


def test_transactions_of_a_failed_disk_are_not_answered_from_memory(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        disks = TwoDisks(running, client)
        wire = TransactionWire(client)
        await wire.prepare_coordinator("first")
        doomed, safe = (disks.key(TRANSACTION_TOPIC, is_doomed=is_doomed) for is_doomed in (True, False))
        for transactional_id in (doomed, safe):
            await wire.start(transactional_id)

        await disks.fail()

        (described,) = (await client.call(DescribeTransactionsRequest(transactional_ids=[doomed]))).transaction_states
        assert described.error_code == ErrorCode.NOT_COORDINATOR
        listed = await client.call(ListTransactionsRequest())
        assert [one.transactional_id for one in listed.transaction_states] == [safe]
        error, _ = await wire.init(doomed)
        assert error == "NOT_COORDINATOR"
        assert await disks.found(doomed, 1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await disks.found(safe, 1) == ErrorCode.NONE
        await wire.start(safe)

    run_node(tmp_path / "data", scenario, SETTINGS | {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})
