"""Fetch sessions at a node: what moved is told, soon, once and to everybody in turn."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.transactional_requests import transactional_batch
from harness.wire import WireClient
from ottla.broker.requests import fetching
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.record_batch import iterate_headers
from ottla.storage.file_system import OsFile

LONG_MS = 600_000


async def create(client: WireClient, partitions: int, name: str = "orders") -> bytes:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
    assert created.error_code == 0
    topic_id: bytes = created.topic_id
    return topic_id


async def produce(client: WireClient, topic_id: bytes, index: int, value: bytes = b"v") -> None:
    row = PartitionProduceData(index=index, records=batch_of(value))
    topic = TopicProduceData(topic_id=topic_id, partition_data=[row])
    (answer,) = (await client.call(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]))).responses
    assert answer.partition_responses[0].error_code == 0


class SessionClient:
    """A client with a fetch session, which goes on where it is told to."""

    def __init__(self, client: WireClient, topic_id: bytes) -> None:
        self.client = client
        self.topic_id = topic_id
        self.session_id = 0
        self.epoch = 0

    isolation_level = 0
    min_bytes = 1
    last_fetched_epoch = -1

    async def fetch(self, offsets: dict[int, int], max_wait_ms: int = 0, max_bytes: int = 1_000_000) -> dict[int, Any]:
        sent = self.send(offsets, max_wait_ms, max_bytes)
        return await self.receive(sent)

    def send(self, offsets: dict[int, int], max_wait_ms: int, max_bytes: int = 1_000_000) -> int:
        rows = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                partition_max_bytes=max_bytes,
                last_fetched_epoch=self.last_fetched_epoch,
            )
            for index, offset in offsets.items()
        ]
        request = FetchRequest(
            topics=[FetchTopic(topic_id=self.topic_id, partitions=rows)] if rows else [],
            max_wait_ms=max_wait_ms,
            min_bytes=self.min_bytes,
            max_bytes=max_bytes,
            isolation_level=self.isolation_level,
            session_id=self.session_id,
            session_epoch=self.epoch,
        )
        return self.client.send(request, 18)

    async def receive(self, sent: int) -> dict[int, Any]:
        answer = await self.client.receive(FetchRequest, 18, sent)
        assert answer.error_code == 0
        self.session_id = answer.session_id
        self.epoch += 1
        return {row.partition_index: row for topic in answer.responses for row in topic.partitions}


def test_a_session_hears_of_the_one_partition_of_many_that_moved(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 20)
        session = SessionClient(consumer, topic_id)
        assert len(await session.fetch(dict.fromkeys(range(20), 0))) == 20
        assert await session.fetch({}) == {}
        await produce(admin, topic_id, 11)
        assert [index for index, row in (await session.fetch({})).items() if row.records] == [11]
        # Not read on: it is sent again.
        assert [index for index, row in (await session.fetch({})).items() if row.records] == [11]
        assert await session.fetch({11: 1}) == {}

    run_node(tmp_path / "data", scenario)


def test_a_session_that_waits_is_woken_by_data_in_any_of_its_partitions(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 20)
        session = SessionClient(consumer, topic_id)
        await session.fetch(dict.fromkeys(range(20), 0))
        named: dict[int, int] = {}
        for index in (3, 17, 3):
            sent = session.send(named, LONG_MS)
            await produce(admin, topic_id, index)
            rows = await session.receive(sent)
            assert [place for place, row in rows.items() if row.records] == [index]
            named = {index: rows[index].high_watermark}

    run_node(tmp_path / "data", scenario)


def test_a_session_that_waits_hears_that_its_topic_is_gone(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 2)
        session = SessionClient(consumer, topic_id)
        await session.fetch({0: 0, 1: 0})
        sent = session.send({}, LONG_MS)
        await admin.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=10_000))
        codes = {row.error_code for row in (await session.receive(sent)).values()}
        assert codes <= {ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER}
        # And again, as long as the client names it: an error is never settled.
        assert {row.error_code for row in (await session.fetch({})).values()} == {ErrorCode.UNKNOWN_TOPIC_ID}

    run_node(tmp_path / "data", scenario)


def test_partitions_take_turns_under_a_limit_of_bytes(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 3)
        for index in range(3):
            for _ in range(2):
                await produce(admin, topic_id, index, bytes(500))
        session = SessionClient(consumer, topic_id)
        offsets = dict.fromkeys(range(3), 0)
        named = dict(offsets)
        served = []
        for _ in range(6):
            rows = await session.fetch(named, max_bytes=100)
            (index,) = [place for place, row in rows.items() if row.records]
            served.append(index)
            offsets[index] += 1
            named = {index: offsets[index]}
        assert served == [0, 1, 2, 0, 1, 2]

    run_node(tmp_path / "data", scenario)


def test_a_session_that_ended_leaves_no_watcher_behind(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 2)
        session = SessionClient(consumer, topic_id)
        await session.fetch({0: 0, 1: 0})
        partition = running.node.replicas.partition("orders", 0)
        assert partition._watchers
        session.epoch = -1
        await session.fetch({})
        assert not partition._watchers

    run_node(tmp_path / "data", scenario)


def test_very_many_partitions_are_watched_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PARTITIONS_AT_ONCE", 10)

    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 20)
        rows = [FetchPartition(partition=index, partition_max_bytes=1000) for index in range(20)]
        topic = FetchTopic(topic_id=topic_id, partitions=rows)
        sent = consumer.send(
            FetchRequest(topics=[topic], max_wait_ms=LONG_MS, min_bytes=1, max_bytes=1000, session_epoch=-1), 18
        )
        await produce(admin, topic_id, 19)
        answer = await consumer.receive(FetchRequest, 18, sent)
        assert [row.partition_index for row in answer.responses[0].partitions if row.records] == [19]

    run_node(tmp_path / "data", scenario)


def test_a_session_is_told_that_retention_deleted_what_it_had_read(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, 1)
        session = SessionClient(client, topic_id)
        # It is years old, and goes as soon as retention looks.
        await produce(client, topic_id, 0)
        await session.fetch({0: 1})
        rows = await session.fetch({})
        deadline = asyncio.get_running_loop().time() + 20
        while not rows or rows[0].log_start_offset == 0:
            assert asyncio.get_running_loop().time() < deadline, "nobody told the session"
            rows = await session.fetch({}, max_wait_ms=50)
        assert rows[0].log_start_offset == 1

    run_node(tmp_path / "data", scenario, {"log.retention.check.interval.ms": "1000"})


@pytest.mark.parametrize("directories", [1, 2])
def test_what_is_not_in_memory_is_read_within_the_limits_of_the_request(
    tmp_path: Path, directories: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OsFile, "read_warm", lambda *_: None)
    log_dirs = [str(tmp_path / f"disk-{number}") for number in range(directories)]

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, 8)
        for index in range(8):
            await produce(client, topic_id, index)
        session = SessionClient(client, topic_id)
        rows = await session.fetch(dict.fromkeys(range(8), 0), max_wait_ms=LONG_MS)
        assert [index for index, row in rows.items() if row.records] == list(range(8))
        # A batch is larger than that: each disk gives its first, and no more.
        session = SessionClient(client, topic_id)
        rows = await session.fetch(dict.fromkeys(range(8), 0), max_wait_ms=LONG_MS, max_bytes=1)
        assert len(rows) == 8
        assert sum(bool(row.records) for row in rows.values()) == directories

    run_node(tmp_path / "disk-0", scenario, {"log.dirs": ",".join(log_dirs)})


def transactional_log(running: RunningNode) -> Callable[[bytes], None]:
    """Appends to partition 0 of orders, as a client or a coordinator would."""
    partition = running.node.replicas.partition("orders", 0)

    def append(batch: bytes) -> None:
        guard = partition.begin_verification(7, 0, -1, supports_epoch_bump=False)
        partition.append(batch, acks=-1, now_ms=1, verification=guard)

    return append


def ending(is_commit: bool) -> bytes:
    return bytes(
        end_txn_batch(producer_id=7, producer_epoch=1, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=1)
    )


@pytest.mark.parametrize("has_session", [True, False])
def test_who_reads_committed_records_sleeps_until_the_transaction_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_session: bool
) -> None:
    looks: list[int] = []
    has_looked = asyncio.Event()
    look = fetching.Fetching._look

    def noting(self, *arguments):
        looks.append(1)
        has_looked.set()
        return look(self, *arguments)

    monkeypatch.setattr(fetching.Fetching, "_look", noting)

    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 1)
        append = transactional_log(running)
        session = SessionClient(consumer, topic_id)
        session.isolation_level, session.min_bytes = 1, 500
        if not has_session:
            session.epoch = -1
        sent = session.send({0: 0}, LONG_MS)
        await has_looked.wait()
        for sequence in range(20):
            append(transactional_batch((7, 0), sequence, bytes(100)))
            await produce(admin, topic_id, 0)
        assert len(looks) == 1, "it was woken by records that it may not read"
        append(ending(is_commit=False))
        row = (await session.receive(sent))[0]
        headers = [header for _, header in iterate_headers(row.records)]
        assert [header.base_offset for header in headers] == list(range(41))
        assert [(a.producer_id, a.first_offset) for a in row.aborted_transactions] == [(7, 0)]
        assert row.last_stable_offset == row.high_watermark == 41
        assert len(looks) == 2

    run_node(tmp_path / "data", scenario)


def test_records_behind_an_open_transaction_wait_for_its_end(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic_id = await create(admin, 1)
        append = transactional_log(running)
        await produce(admin, topic_id, 0)
        append(transactional_batch((7, 0), 0))
        await produce(admin, topic_id, 0)
        committed, plain = [SessionClient(await running.connect(), topic_id) for _ in range(2)]
        committed.isolation_level = 1
        row = (await committed.fetch({0: 0}))[0]
        assert [header.base_offset for _, header in iterate_headers(row.records)] == [0]
        assert (row.high_watermark, row.last_stable_offset, row.aborted_transactions) == (3, 1, [])
        row = (await plain.fetch({0: 0}))[0]
        assert [header.base_offset for _, header in iterate_headers(row.records)] == [0, 1, 2]
        assert (row.high_watermark, row.last_stable_offset, row.aborted_transactions) == (3, 1, None)
        append(ending(is_commit=True))
        row = (await committed.fetch({0: 1}))[0]
        assert [header.base_offset for _, header in iterate_headers(row.records)] == [1, 2, 3]
        assert (row.high_watermark, row.last_stable_offset, row.aborted_transactions) == (4, 4, [])

    run_node(tmp_path / "data", scenario)


def test_a_session_may_change_its_mind_about_what_it_reads(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, consumer = await running.connect(), await running.connect()
        topic_id = await create(admin, 2)
        append = transactional_log(running)
        session = SessionClient(consumer, topic_id)
        session.isolation_level = 1
        await session.fetch({0: 0, 1: 0})
        append(transactional_batch((7, 0), 0))
        assert await session.fetch({}) == {}, "nothing that it may read"
        session.isolation_level = 0
        assert set(await session.fetch({})) == {0}
        session.isolation_level = 1
        sent = session.send({0: 0}, LONG_MS)
        await produce(admin, topic_id, 1)
        assert set(await session.receive(sent)) >= {1}
        append(ending(is_commit=True))
        assert (await session.fetch({}))[0].records

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize("in_session", [True, False])
def test_a_fetch_is_told_where_its_history_parts_from_the_log_or_that_this_is_unknown(
    tmp_path: Path, in_session: bool
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, 1)
        for _ in range(3):
            await produce(client, topic_id, 0)
        log = running.node.replicas.partition("orders", 0).log
        log.assign_leader_epoch(4)
        session = SessionClient(client, topic_id)
        if in_session:
            await session.fetch({0: 3})

        async def fetched(offset: int, last_fetched_epoch: int) -> tuple[int, tuple[int, int] | None]:
            if not in_session:
                session.epoch = -1
            session.last_fetched_epoch = last_fetched_epoch
            row = (await session.fetch({0: offset}))[0]
            assert not row.records
            diverging = row.diverging_epoch
            return row.error_code, None if diverging is None else (diverging.epoch, diverging.end_offset)

        assert await fetched(3, 2) == (0, (0, 3)), "the log knows what was before"
        assert await fetched(9, 4) == (0, (4, 3)), "the log is shorter"
        assert await fetched(3, 7) == (ErrorCode.OFFSET_OUT_OF_RANGE, None), "that epoch is still to come"
        log.increment_log_start_offset(2)
        assert await fetched(1, 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, None), "what it could be compared with is deleted"

    run_node(tmp_path / "data", scenario)


LENGTH_POSITION = 8


@pytest.mark.parametrize("max_bytes", [1, 1_000_000])
def test_each_batch_that_is_damaged_in_use_is_refused_and_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, max_bytes: int
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, 1)
        for _ in range(10):
            await produce(client, topic_id, 0)
        (file,) = (tmp_path / "data" / "orders-0").glob("*.log")
        size = file.stat().st_size // 10
        data = bytearray(file.read_bytes())
        data[3 * size + LENGTH_POSITION : 3 * size + LENGTH_POSITION + 4] = (50_000_000).to_bytes(4, "big")
        for number in (5, 7):
            data[number * size : (number + 1) * size] = bytes(size)
        with file.open("r+b") as damaged:
            damaged.write(data)
        for _ in range(2):
            for offset, code in ((0, 0), (3, ErrorCode.CORRUPT_MESSAGE), (5, ErrorCode.CORRUPT_MESSAGE), (9, 0)):
                rows = await SessionClient(client, topic_id).fetch({0: offset}, max_bytes=max_bytes)
                assert rows[0].error_code == code
                # The log goes on, and so does what is told of it.
                await produce(client, topic_id, 0)
            rows = await SessionClient(client, topic_id).fetch({0: 7}, max_bytes=max_bytes)
            assert rows[0].error_code == ErrorCode.CORRUPT_MESSAGE
        told = [record.getMessage() for record in caplog.records if record.name == "ottla.broker.damage"]
        assert [f"{file}, position {number * size})" in line for number, line in zip((3, 5, 7), told, strict=True)] == [
            True,
            True,
            True,
        ]

    run_node(tmp_path / "data", scenario)
