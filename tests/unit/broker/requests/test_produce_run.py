"""Requests that are served together: what is written at once, and what is answered when something is wrong."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.broker.metrics.measured_dispatch import MeasuredDispatcher
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.replication.partition import Partition
from ottla.storage.errors import DiskFull
from ottla.storage.file_system import OsFile

VERSION = 9
PARTITIONS = 3


def request(index: int, value: bytes = b"v", acks: int = 1, timeout_ms: int = 10_000) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=batch_of(value))]
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name="orders", partition_data=data)]
    )


async def producer(running: RunningNode, **options: int) -> WireClient:
    """A client that has sent a request to each partition, so that the node knows what its requests look like."""
    client = await running.connect()
    topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
    await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    for index in range(PARTITIONS):
        await client.call(request(index, **options), VERSION)
    return client


def follow(running: RunningNode, index: int) -> Partition:
    """Gives a partition a follower, which has what was written so far."""
    partition = running.node.replicas.partition("orders", index)
    partition.apply(replace(partition.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=9))
    fetch(partition)
    return partition


def fetch(partition: Partition) -> None:
    """The follower has everything."""
    end = partition.log.log_end_offset
    partition.follower_fetched(2, end, 0, leader_end_offset=end, broker_epoch=1)


async def until_appended(partition: Partition, end_offset: int) -> None:
    async def is_appended() -> bool:
        return partition.log.log_end_offset == end_offset

    await eventually_async(is_appended)


async def receive_all(client: WireClient, sent: Sequence[int]) -> list[tuple[int, int, int]]:
    """Partition, error code and base offset of each answer, in the order of the requests."""
    found = []
    for correlation_id in sent:
        answer = await client.receive(ProduceRequest, VERSION, correlation_id)
        ((row,),) = [topic.partition_responses for topic in answer.responses]
        found.append((row.index, row.error_code, row.base_offset))
    return found


async def exchange(client: WireClient, requests: Sequence[ProduceRequest]) -> list[tuple[int, int, int]]:
    """Sends all at once; what is answered."""
    return await receive_all(client, [client.send(one, VERSION) for one in requests])


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the directories that batches were written to, once for each write."""
    noted: list[str] = []
    append = OsFile.append

    def noting(self: OsFile, parts: Sequence[bytes]) -> int:
        if self.path.suffix == ".log" and self.path.parent.name.startswith("orders"):
            noted.append(self.path.parent.name)
        return append(self, parts)

    monkeypatch.setattr(OsFile, "append", noting)
    return noted


def test_requests_that_came_together_are_written_once_for_each_partition(tmp_path: Path, writes: list[str]) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running)
        writes.clear()
        answers = await exchange(client, [request(number % PARTITIONS) for number in range(12)])
        assert answers == [(number % PARTITIONS, 0, 1 + number // PARTITIONS) for number in range(12)]
        assert sorted(writes) == [f"orders-{index}" for index in range(PARTITIONS)]

    run_node(tmp_path / "data", scenario)


def test_a_partition_whose_disk_is_full_holds_up_no_other_and_the_answers_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = OsFile.append

    def full(self: OsFile, parts: Sequence[bytes]) -> int:
        if self.path.parent.name == "orders-1" and self.path.suffix == ".log":
            raise DiskFull(self.path.parent.parent, "write", self.path, os.strerror(28))
        return append(self, parts)

    async def scenario(running: RunningNode) -> None:
        client = await producer(running)
        with monkeypatch.context() as patch:
            patch.setattr(OsFile, "append", full)
            answers = await exchange(client, [request(number % PARTITIONS) for number in range(9)])
        refused = (1, ErrorCode.KAFKA_STORAGE_ERROR, -1)
        rounds = [[(0, 0, 1 + turn), refused, (2, 0, 1 + turn)] for turn in range(3)]
        assert answers == [answer for turn in rounds for answer in turn]
        assert await exchange(client, [request(1)] * 2) == [(1, 0, 1), (1, 0, 2)]

    run_node(tmp_path / "data", scenario)


def test_what_the_disk_takes_of_a_run_alone_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = OsFile.append
    taken = 0

    def nearly_full(self: OsFile, parts: Sequence[bytes]) -> int:
        nonlocal taken
        if self.path.parent.name == "orders-0" and self.path.suffix == ".log":
            if len(parts) > 2 or taken == 2:
                raise DiskFull(self.path.parent.parent, "write", self.path, os.strerror(28))
            taken += 1
        return append(self, parts)

    async def scenario(running: RunningNode) -> None:
        client = await producer(running)
        with monkeypatch.context() as patch:
            patch.setattr(OsFile, "append", nearly_full)
            answers = await exchange(client, [request(0)] * 4)
        refused = (0, ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert answers == [(0, 0, 1), (0, 0, 2), refused, refused]

    run_node(tmp_path / "data", scenario)


def test_without_acknowledgement_a_run_takes_effect_and_is_not_answered(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running)
        for _ in range(5):
            client.send(request(0, acks=0), VERSION)
        assert await exchange(client, [request(0)]) == [(0, 0, 6)]

    run_node(tmp_path / "data", scenario)


def test_a_request_is_refused_however_often_it_comes(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running)
        refused = (0, ErrorCode.INVALID_REQUIRED_ACKS, -1)
        assert await exchange(client, [request(0, acks=2)] * 3) == [refused] * 3
        assert await exchange(client, [request(0)]) == [(0, 0, 1)]

    run_node(tmp_path / "data", scenario)


def test_a_request_that_the_handler_takes_and_that_waits_is_not_overtaken(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client, other = await producer(running), await running.connect()
        waiting = follow(running, 1)
        sent = [client.send(request(index, acks=-1), VERSION) for index in (0, 1, 0)]
        await client.receive(ProduceRequest, VERSION, sent[0])
        await until_appended(waiting, 2)
        await other.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=[]))
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == 2
        fetch(waiting)
        await receive_all(client, sent[1:])
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == 3

    run_node(tmp_path / "data", scenario)


def test_requests_that_wait_for_followers_are_written_together_and_answered_in_order(
    tmp_path: Path, writes: list[str]
) -> None:
    async def scenario(running: RunningNode) -> None:
        client, other = await producer(running, acks=-1), await running.connect()
        first, second = follow(running, 0), follow(running, 1)
        writes.clear()
        sent = [client.send(request(number % PARTITIONS, acks=-1), VERSION) for number in range(9)]
        await until_appended(second, 4)
        assert sorted(writes) == [f"orders-{index}" for index in range(PARTITIONS)]
        fetch(second)
        answers = asyncio.ensure_future(receive_all(client, sent))
        await other.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=[]))
        assert not answers.done()
        assert first.log.high_watermark == 1
        fetch(first)
        assert await answers == [(number % PARTITIONS, 0, 1 + number // PARTITIONS) for number in range(9)]
        # The next ones wait for nobody that has answered already.
        assert await exchange(client, [request(2, acks=-1)] * 2) == [(2, 0, 4), (2, 0, 5)]

    run_node(tmp_path / "data", scenario)


def test_requests_whose_leader_loses_its_epoch_are_refused_and_told_who_leads(tmp_path: Path) -> None:
    hinting = 10

    async def scenario(running: RunningNode) -> None:
        client = await producer(running, acks=-1)
        requests = [request(0, acks=-1), request(1, acks=-1), request(1), request(1, acks=-1)]
        for one in requests:
            await client.call(one, hinting)
        lost = follow(running, 1)
        end_offset = lost.log.log_end_offset
        sent = [client.send(one, hinting) for one in requests]
        await until_appended(lost, end_offset + 3)
        epoch = lost.leader_epoch + 1
        lost.apply(replace(lost.leadership, leader_id=2, leader_epoch=epoch, partition_epoch=10))
        answers = [await client.receive(ProduceRequest, hinting, one) for one in sent]
        rows = [answer.responses[0].partition_responses[0] for answer in answers]
        refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert [row.error_code for row in rows] == [0, refused, 0, refused]
        assert [row.base_offset for row in rows] == [2, -1, end_offset + 1, -1]
        assert all(row.current_leader is not None for row in rows if row.error_code)

    run_node(tmp_path / "data", scenario)


def test_a_run_is_refused_where_followers_take_too_long_and_nowhere_else(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running, acks=-1, timeout_ms=50)
        for index in range(PARTITIONS):
            await client.call(request(index), VERSION)
        slow = follow(running, 1)
        requests = [request(0, acks=-1, timeout_ms=50), request(1, acks=-1, timeout_ms=50), request(1)]
        late = (1, ErrorCode.REQUEST_TIMED_OUT, -1)
        assert await exchange(client, requests) == [(0, 0, 2), late, (1, 0, 3)]
        assert (slow.log.high_watermark, slow.log.log_end_offset) == (2, 4)
        fetch(slow)
        assert slow.log.high_watermark == 4

    run_node(tmp_path / "data", scenario)


def test_a_run_takes_effect_once_though_its_client_leaves_while_it_waits(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running, acks=-1)
        waiting = follow(running, 0)
        for _ in range(5):
            client.send(request(0, acks=-1), VERSION)
        await until_appended(waiting, 6)
        await client.close()
        fetch(waiting)
        assert await exchange(await running.connect(), [request(1, acks=-1)]) == [(1, 0, 1)]
        assert waiting.log.log_end_offset == 6

    run_node(tmp_path / "data", scenario)


def test_a_run_that_waits_is_measured_as_its_requests(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await producer(running, acks=-1)
        waiting = follow(running, 0)
        dispatcher = running.node.broker.dispatcher  # type: ignore[union-attr]
        assert isinstance(dispatcher, MeasuredDispatcher)
        times = dispatcher.times[ApiKey.PRODUCE]
        before = sum(times.deferred_total.counts)
        sent = [client.send(request(0, acks=-1), VERSION) for _ in range(4)]
        await until_appended(waiting, 5)
        assert times.waiting == 4
        fetch(waiting)
        await receive_all(client, sent)
        assert (times.waiting, sum(times.deferred_total.counts) - before) == (0, 4)

    run_node(tmp_path / "data", scenario, metrics_address=("127.0.0.1", 0))
