"""Requests that are served together: what is written at once, and what is answered when something is wrong."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.storage.errors import DiskFull
from ottla.storage.file_system import OsFile

VERSION = 9
PARTITIONS = 3


def request(index: int, value: bytes = b"v", acks: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=batch_of(value))]
    return ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name="orders", partition_data=data)]
    )


async def producer(running: RunningNode) -> WireClient:
    """A client that has sent a request to each partition, so that the node knows what its requests look like."""
    client = await running.connect()
    topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
    await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
    for index in range(PARTITIONS):
        await client.call(request(index), VERSION)
    return client


async def exchange(client: WireClient, requests: Sequence[ProduceRequest]) -> list[tuple[int, int, int]]:
    """Sends all at once; partition, error code and base offset of each answer, in the order of the requests."""
    sent = [client.send(one, VERSION) for one in requests]
    found = []
    for correlation_id in sent:
        answer = await client.receive(ProduceRequest, VERSION, correlation_id)
        ((row,),) = [topic.partition_responses for topic in answer.responses]
        found.append((row.index, row.error_code, row.base_offset))
    return found


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


def test_a_request_that_waits_for_replicas_is_not_overtaken(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client, other = await producer(running), await running.connect()
        waiting = running.node.replicas.partition("orders", 1)
        waiting.apply(replace(waiting.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=9))
        sent = [client.send(request(index, acks=-1), VERSION) for index in (0, 1, 0)]
        await client.receive(ProduceRequest, VERSION, sent[0])
        while waiting.log.log_end_offset == 1:
            await other.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=[]))
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == 2
        waiting.follower_fetched(2, 2, 0, leader_end_offset=2, broker_epoch=1)
        for correlation_id in sent[1:]:
            await client.receive(ProduceRequest, VERSION, correlation_id)
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == 3

    run_node(tmp_path / "data", scenario)
