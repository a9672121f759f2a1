"""Shards come with leadership, serve what is committed, and go with leadership or with their disk."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from harness.running_node import RunningNode, run_node
from harness.transaction_wire import TransactionWire
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.broker.coordinators import partition_log, runtime
from ottla.broker.coordinators.internal_topic import (
    OFFSETS_TOPIC,
    TRANSACTION_TOPIC,
    CoordinatorStore,
    InternalTopic,
    InternalTopicSpec,
)
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.coordinator.partitioning import partition_for
from ottla.protocol.errors import ApiError, ErrorCode
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
from unit.broker.coordinators.one_of_two import OneOfTwo
from unit.replication.partitions import batch_of_one

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


class CountingShard:
    """Knows how many batches it was loaded from, and whether it was closed."""

    def __init__(self, batches: int, writes: ShardWrites) -> None:
        self.batches = batches
        self.writes = writes
        self.is_closed = False

    def close(self) -> None:
        assert self.writes.is_closed, "first closed, then answered"
        self.is_closed = True


class Counted:
    def __init__(self, pieces: Iterator[memoryview]) -> None:
        self.batches = sum(len(piece) // len(batch_of_one()) for piece in pieces)

    def __len__(self) -> int:
        return self.batches


class Coordinator:
    """A runtime over the partition of a node that has a follower."""

    def __init__(self, home: Path, directories: Sequence[str] = ("a",)) -> None:
        self.node = OneOfTwo(home, directories)
        self.failure: Exception | None = None
        self.loads = count()
        self.waits_for_commit = asyncio.Event()
        wait_all_committed = self.node.log.wait_all_committed

        async def noting(partition: int, leader_epoch: int) -> None:
            self.waits_for_commit.set()
            await wait_all_committed(partition, leader_epoch)

        self.node.log.wait_all_committed = noting  # type: ignore[method-assign]
        self.runtime: CoordinatorRuntime[Counted, CountingShard] = CoordinatorRuntime(
            CoordinatorStore(
                InternalTopic(InternalTopicSpec(OFFSETS_TOPIC, 1, 1, {}), lambda: self.node.image, self.node._create),
                self.node.log,
            ),
            "batches",
            self.node.tasks,
            60_000,
            self._load,
            lambda counted, writes: CountingShard(len(counted), writes),
        )

    def _load(self, _partition: int, pieces: Iterator[memoryview]) -> Counted:
        next(self.loads)
        if self.failure is not None:
            raise self.failure
        return Counted(pieces)

    def code(self) -> ErrorCode | None:
        try:
            self.runtime.serving("any")
        except ApiError as error:
            return error.code
        return None

    async def __aenter__(self) -> "Coordinator":
        await self.node.replicas.apply_all(self.node.image)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.runtime.resign_all()
        await self.node.stop()


def test_a_shard_serves_once_all_that_it_was_loaded_from_is_committed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            node = coordinator.node
            node.lead(1)
            node.append(1)
            coordinator.runtime.become_leader(0, 1)
            await coordinator.waits_for_commit.wait()
            assert coordinator.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            node.append(1)
            node.fetch(1)
            await coordinator.runtime.loaded()
            assert coordinator.runtime.serving("any").batches == 1

    asyncio.run(scenario())


def test_a_broker_that_starts_waits_for_its_disk_and_not_for_other_brokers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1)
            coordinator.node.append(1)
            coordinator.runtime.become_leader(0, 1)
            await asyncio.wait_for(coordinator.runtime.all_read(), 30)
            assert coordinator.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            # Only now is the follower able to fetch.
            coordinator.node.fetch(1)
            await coordinator.runtime.loaded()
            assert coordinator.code() is None

    asyncio.run(scenario())


def test_a_shard_that_waits_for_its_replicas_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partition_log, "_PATIENCE_S", 0.001)

    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1)
            coordinator.node.append(1)
            coordinator.runtime.become_leader(0, 1)

            async def was_told() -> bool:
                return "__consumer_offsets-0 is read, and still not served" in caplog.text

            await eventually_async(was_told)
            coordinator.node.fetch(1)
            await coordinator.runtime.loaded()
            assert coordinator.code() is None

    asyncio.run(scenario())


def test_a_load_that_fails_keeps_no_start_waiting(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1, in_sync=(7,))
            coordinator.node.append(1)
            coordinator.failure = ValueError("a record that nobody can read")
            coordinator.runtime.become_leader(0, 1)
            await asyncio.wait_for(coordinator.runtime.all_read(), 30)

    asyncio.run(scenario())


def test_an_empty_partition_is_served_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1)
            coordinator.runtime.become_leader(0, 1)
            assert coordinator.code() is None

    asyncio.run(scenario())


def test_a_shard_is_loaded_from_what_was_on_its_way_to_an_empty_log_when_the_leadership_came_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path, ("a", "b")) as coordinator:
            node = coordinator.node
            node.lead(1, in_sync=(7,))
            coordinator.runtime.become_leader(0, 1)
            await coordinator.runtime.loaded()
            for disk in node.disks:
                disk.is_asked.clear()
                disk.takes_appends.clear()
            coordinator.runtime.serving("any").writes.append(batch_of_one(), lambda _: None)

            async def is_at_the_disk() -> bool:
                return any(disk.is_asked.is_set() for disk in node.disks)

            # What the disk has begun to write is written; what still waits for it when the epoch ends is refused.
            await eventually_async(is_at_the_disk)
            node.lead(3, in_sync=(7,))
            coordinator.runtime.become_leader(0, 3)
            assert coordinator.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            for disk in node.disks:
                disk.wake_up()
            await coordinator.runtime.loaded()
            assert coordinator.runtime.serving("any").batches == 1

    asyncio.run(scenario())


def test_a_shard_that_counted_on_what_the_log_has_not_is_loaded_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        # With several directories appends wait in a queue, and fail later.
        async with Coordinator(tmp_path, ("a", "b")) as coordinator:
            node = coordinator.node
            node.lead(1, in_sync=(7,))
            coordinator.runtime.become_leader(0, 1)
            await coordinator.runtime.loaded()
            shard = coordinator.runtime.serving("any")
            for disk in node.disks:
                disk.is_full = True
            write = shard.writes.append(batch_of_one(), lambda _: None)
            shard.writes.commit_ready()
            with pytest.raises(ApiError) as refused:
                await shard.writes.wait(write)
            assert refused.value.code is ErrorCode.NOT_COORDINATOR
            assert shard.is_closed
            assert coordinator.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await coordinator.runtime.loaded()
            assert coordinator.runtime.serving("any") is not shard

    asyncio.run(scenario())


def test_a_load_ends_without_effect_when_the_leadership_goes_while_it_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            node = coordinator.node
            node.lead(1)
            node.append(1)
            coordinator.runtime.become_leader(0, 1)
            await coordinator.waits_for_commit.wait()
            node.follow(2)
            coordinator.runtime.resign(0)
            assert coordinator.code() is ErrorCode.NOT_COORDINATOR
            # It is lost and gained within one step: the image shows the last epoch alone.
            node.lead(3, in_sync=(7,))
            node.append(3)
            node.follow(4)
            node.lead(5, in_sync=(7,))
            coordinator.runtime.become_leader(0, 5)
            await coordinator.runtime.loaded()
            assert coordinator.runtime.serving("any").batches == 0
            assert coordinator.runtime.serving("any").writes.leader_epoch == 5

    asyncio.run(scenario())


def test_a_partition_that_is_gained_again_in_another_epoch_gets_another_shard(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            node = coordinator.node
            node.lead(1, in_sync=(7,))
            coordinator.runtime.become_leader(0, 1)
            first = coordinator.runtime.serving("any")
            coordinator.runtime.become_leader(0, 1)
            assert coordinator.runtime.serving("any") is first
            node.append(1)
            node.lead(3, in_sync=(7,))
            coordinator.runtime.become_leader(0, 3)
            assert first.is_closed
            await coordinator.runtime.loaded()
            assert coordinator.runtime.serving("any").batches == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [ValueError, partial(ApiError, ErrorCode.KAFKA_STORAGE_ERROR), OSError])
def test_a_shard_that_cannot_be_loaded_says_why_and_is_tried_again_with_the_next_step(
    tmp_path: Path, error: Callable[[str], Exception]
) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            node = coordinator.node
            node.lead(1, in_sync=(7,))
            node.append(1)
            coordinator.failure = error("a record that nobody can read")
            coordinator.runtime.become_leader(0, 1)
            await coordinator.runtime.loaded()
            with pytest.raises(ApiError, match="a record that nobody can read") as refused:
                coordinator.runtime.active(0)
            assert refused.value.code is ErrorCode.NOT_COORDINATOR
            with pytest.raises(ApiError, match="a record that nobody can read") as refused:
                coordinator.runtime.require_led(0)
            assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert not coordinator.runtime.is_loading
            coordinator.failure = None
            coordinator.runtime.become_leader(0, 1)
            await coordinator.runtime.loaded()
            assert coordinator.code() is None

    asyncio.run(scenario())


def test_a_shard_that_could_not_be_loaded_is_served_when_what_was_wrong_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "_LOAD_AGAIN_S", 0.001)

    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1, in_sync=(7,))
            coordinator.node.append(1)
            coordinator.failure = ValueError("a record that nobody can read")
            coordinator.runtime.become_leader(0, 1)
            await coordinator.runtime.loaded()
            assert coordinator.code() is ErrorCode.NOT_COORDINATOR
            coordinator.failure = None

            async def is_served() -> bool:
                return coordinator.code() is None

            await eventually_async(is_served)

    asyncio.run(scenario())


def test_an_error_in_one_shard_keeps_no_other_one_from_its_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with Coordinator(tmp_path) as coordinator:
            coordinator.node.lead(1, in_sync=(7,))
            coordinator.runtime.become_leader(0, 1)

            async def fail(_: CountingShard) -> None:
                raise KeyError("a bug")

            await coordinator.runtime.for_each("rounds", fail)

    asyncio.run(scenario())
    assert "rounds failed for one partition" in caplog.text
