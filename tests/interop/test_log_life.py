"""The life of a log, seen from outside: what is refused at its door, when records go, which settings act at once."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import StartServer
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.command_line import CommandLine
from harness.servers import Server
from harness.waiting import eventually, eventually_async
from harness.wire import WireClient
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.record_batch import TimestampType, parse_header

HOUR_MS = 3_600_000
YEAR_MS = 365 * 24 * HOUR_MS
_TOPIC, _BROKER = 2, 4


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch(*timestamps: int, keys: tuple[bytes | None, ...] = (), value: bytes = b"v", **settings: Any) -> bytes:
    builder = BatchBuilder(**settings)
    for number, timestamp in enumerate(timestamps):
        builder.append(keys[number] if keys else b"k", value, timestamp_ms=timestamp)
    return bytes(builder.build())


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of one partition, at the level of requests."""

    client: WireClient
    name: str
    topic_id: bytes

    async def produce(self, records: bytes) -> Any:
        data = TopicProduceData(topic_id=self.topic_id, partition_data=[PartitionProduceData(index=0, records=records)])
        answer = await self.client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]))
        return answer.responses[0].partition_responses[0]

    async def offset(self, spec: int) -> int:
        row = ListOffsetsPartition(partition_index=0, timestamp=spec)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self.name, partitions=[row])])
        found: int = (await self.client.call(request)).topics[0].partitions[0].offset
        return found

    async def fetch(self, offset: int) -> bytes:
        return bytes((await self.fetched(offset)).records)

    async def fetched(self, offset: int, last_fetched_epoch: int = -1) -> Any:
        row = FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=1_000_000, last_fetched_epoch=last_fetched_epoch
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1_000_000,
            session_epoch=-1,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=[row])],
        )
        return (await self.client.call(request)).responses[0].partitions[0]

    async def set(self, **configs: str) -> None:
        await alter(self.client, _TOPIC, self.name, configs)


async def alter(client: WireClient, kind: int, name: str, configs: dict[str, str]) -> None:
    entries = [
        AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value) for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=entries)
    (answer,) = (await client.call(IncrementalAlterConfigsRequest(resources=[resource]))).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def play(port: int, name: str, scenario: Callable[[Topic], Coroutine[Any, Any, None]], **configs: str) -> None:
    """Creates a topic with settings and plays a scenario with it."""

    async def run() -> None:
        client = await WireClient.connect(port)
        wanted = CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        (created,) = (await client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=5000))).topics
        assert created.error_code == ErrorCode.NONE, created.error_message
        topic = Topic(client, name, created.topic_id)

        async def first() -> int:
            found: int = (await topic.produce(batch(now_ms(), value=b"first"))).error_code
            return found

        not_yet = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert await eventually_async(first, lambda code: code not in not_yet) == ErrorCode.NONE
        await scenario(topic)
        await client.close()

    asyncio.run(run())


def refused(row: Any) -> tuple[int, list[int]]:
    return row.error_code, [error.batch_index for error in row.record_errors]


# What is refused.


def test_a_fetch_that_knows_another_history_is_told_where_it_parts_unless_its_epoch_is_unknown(
    server: Server, fresh_name: Callable[[], str]
) -> None:
    async def scenario(topic: Topic) -> None:
        row = await topic.fetched(99, last_fetched_epoch=0)
        assert (row.error_code, row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (ErrorCode.NONE, 0, 1)
        row = await topic.fetched(0, last_fetched_epoch=77)
        assert (row.error_code, row.diverging_epoch) == (ErrorCode.OFFSET_OUT_OF_RANGE, None)
        assert (await topic.fetched(0, last_fetched_epoch=0)).records

    play(server.port, fresh_name(), scenario)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_records_too_far_from_now_are_refused_and_named(
    server: Server, fresh_name: Callable[[], str], codec: Codec
) -> None:
    async def scenario(topic: Topic) -> None:
        now = now_ms()
        stamps = (now, now - 2 * HOUR_MS, -1, now + 2 * HOUR_MS, -7, now)
        row = await topic.produce(batch(*stamps, codec=codec))
        assert refused(row) == (ErrorCode.INVALID_TIMESTAMP, [1, 3, 4])
        assert (row.base_offset, row.log_start_offset) == (-1, 0)
        assert row.error_message
        assert (await topic.produce(batch(now, now - HOUR_MS // 2, -1, codec=codec))).error_code == ErrorCode.NONE

    play(server.port, fresh_name(), scenario, message_timestamp_before_max_ms=str(HOUR_MS))


def test_the_default_limits_are_an_hour_ahead_and_none_back(server: Server, fresh_name: Callable[[], str]) -> None:
    async def scenario(topic: Topic) -> None:
        assert refused(await topic.produce(batch(now_ms() + 2 * HOUR_MS))) == (ErrorCode.INVALID_TIMESTAMP, [0])
        for stamp in (0, -1, -5, -(2**62), now_ms() + HOUR_MS // 2):
            assert (await topic.produce(batch(stamp))).error_code == ErrorCode.NONE, stamp

    play(server.port, fresh_name(), scenario)


def test_a_missing_key_and_a_wrong_time_are_told_together(server: Server, fresh_name: Callable[[], str]) -> None:
    async def scenario(topic: Topic) -> None:
        now = now_ms()
        row = await topic.produce(batch(now, now + YEAR_MS, now + YEAR_MS, keys=(None, b"k", None)))
        assert refused(row) == (ErrorCode.INVALID_TIMESTAMP, [0, 1, 2])
        assert refused(await topic.produce(batch(now, now, keys=(b"k", None)))) == (ErrorCode.INVALID_RECORD, [1])

    play(server.port, fresh_name(), scenario, cleanup_policy="compact")


def test_nobody_but_the_broker_says_that_it_set_the_time(server: Server, fresh_name: Callable[[], str]) -> None:
    claim = batch(now_ms(), timestamp_type=TimestampType.LOG_APPEND_TIME)

    async def scenario(topic: Topic) -> None:
        assert refused(await topic.produce(claim)) == (ErrorCode.INVALID_TIMESTAMP, [0])
        await topic.set(message_timestamp_type="CreateTime")

        async def offset() -> int:
            found: int = (await topic.produce(claim)).base_offset
            return found

        stored = await topic.fetch(await eventually_async(offset, lambda found: found >= 0))
        assert parse_header(stored).timestamp_type is TimestampType.CREATE_TIME

    play(server.port, fresh_name(), scenario, message_timestamp_type="LogAppendTime")


# What is kept.


def test_a_record_of_the_far_future_is_pointed_out(
    ottla: CommandLine, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    ahead = str(100 * YEAR_MS)
    dated, undated, kept = (
        new_topic(2, {"retention.ms": retention_ms, "message.timestamp.after.max.ms": ahead})
        for retention_ms in ("86400000", "86400000", "-1")
    )
    for topic, stamp in ((dated, 4_102_444_800_000), (undated, now_ms()), (kept, 4_102_444_800_000)):
        reference.produce(topic, [Record(b"a"), Record(b"b", timestamp_ms=stamp), Record(b"c")], partition=1)
    printed = ottla("topics", "describe", dated, undated, kept, "-o", "json")
    assert printed.code == 0
    (warning,) = printed.err.splitlines()
    for part in (f"{dated}-1 holds", "2100-01-01T00:00:00", "offset 1", f"ottla records delete {dated}:1 --before 2"):
        assert part in warning


# What settings do to a running server.


@pytest.fixture(scope="module")
def brisk_server(start_servers: StartServer) -> Server:
    """One that looks for old segments all the time."""
    return start_servers(
        {
            "log.retention.check.interval.ms": "100",
            "log.initial.task.delay.ms": "0",
            "log.segment.delete.delay.ms": "0",
            "log.cleaner.enable": "false",
        }
    )


def segments(server: Server, topic: str, suffix: str = ".log") -> list[Path]:
    return sorted(server.partition_directory(topic, 0).glob(f"*{suffix}"))


async def fill(topic: Topic, count: int = 4) -> None:
    """A megabyte in each batch, so that each makes a segment."""
    for _ in range(count):
        assert (await topic.produce(batch(now_ms(), value=b"x" * 1_000_000))).error_code == ErrorCode.NONE


def test_a_new_retention_time_acts_at_once(brisk_server: Server, fresh_name: Callable[[], str]) -> None:
    async def scenario(topic: Topic) -> None:
        assert await topic.offset(-2) == 0
        await topic.set(retention_ms="1")
        assert await eventually_async(lambda: topic.offset(-2)) == await topic.offset(-1) == 1

    play(brisk_server.port, fresh_name(), scenario)


def test_a_new_retention_size_acts_at_once(brisk_server: Server, fresh_name: Callable[[], str]) -> None:
    async def scenario(topic: Topic) -> None:
        await fill(topic)
        assert await topic.offset(-2) == 0
        await topic.set(retention_bytes="2500000")
        # The first one is small, of the others 2.5 MB stay at least: three.
        assert await eventually_async(lambda: topic.offset(-2)) == 2

    play(brisk_server.port, fresh_name(), scenario, segment_bytes="1048576")


def test_a_new_segment_size_acts_from_the_next_batch_on(brisk_server: Server, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()

    async def scenario(topic: Topic) -> None:
        await fill(topic, 2)
        assert len(segments(brisk_server, name)) == 1
        await topic.set(segment_bytes="1048576")

        async def rolled() -> bool:
            await fill(topic, 1)
            return len(segments(brisk_server, name)) > 1

        await eventually_async(rolled)

    play(brisk_server.port, name, scenario)


def test_a_new_segment_age_acts_from_the_next_batch_on(brisk_server: Server, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()

    async def scenario(topic: Topic) -> None:
        await topic.produce(batch(now_ms() + 1000))
        assert len(segments(brisk_server, name)) == 1
        await topic.set(segment_ms="1000")

        async def rolled() -> bool:
            await topic.produce(batch(now_ms() + 5000))
            return len(segments(brisk_server, name)) > 1

        await eventually_async(rolled)

    play(brisk_server.port, name, scenario)


def test_deleted_files_wait_as_long_as_the_topic_says(brisk_server: Server, fresh_name: Callable[[], str]) -> None:
    slow, quick = fresh_name(), fresh_name()

    async def drop(topic: Topic) -> None:
        await fill(topic, 2)
        await topic.set(retention_ms="1")
        await eventually_async(lambda: topic.offset(-2), lambda offset: offset == 3)

    play(brisk_server.port, slow, drop, segment_bytes="1048576", file_delete_delay_ms="60000")
    play(brisk_server.port, quick, drop, segment_bytes="1048576")
    eventually(lambda: segments(brisk_server, quick, ".log.deleted"), lambda left: not left)
    assert segments(brisk_server, slow, ".log.deleted")
    assert [path.name for path in segments(brisk_server, slow)] == ["00000000000000000003.log"]


@pytest.mark.parametrize("for_all", [False, True], ids=["topic", "all brokers"])
@pytest.mark.parametrize(
    ("topic_name", "broker_name", "value", "usual"),
    [
        ("max_message_bytes", "message_max_bytes", "100", "1048588"),
        ("message_timestamp_after_max_ms", "log_message_timestamp_after_max_ms", "0", "3600000"),
        (
            "message_timestamp_before_max_ms",
            "log_message_timestamp_before_max_ms",
            "1",
            str(2**63 - 1),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith(("s", "bytes")) else "",
)
def test_new_limits_of_records_act_at_once(
    brisk_server: Server,
    fresh_name: Callable[[], str],
    topic_name: str,
    broker_name: str,
    value: str,
    usual: str,
    for_all: bool,
) -> None:
    limited = batch(now_ms() - 10 if "before" in topic_name else now_ms() + 60_000, value=b"x" * 100)

    async def scenario(topic: Topic) -> None:
        async def code() -> int:
            found: int = (await topic.produce(limited)).error_code
            return found

        assert await code() == ErrorCode.NONE
        if not for_all:
            await topic.set(**{topic_name: value})
            await eventually_async(code, lambda found: found != ErrorCode.NONE)
            return
        await alter(topic.client, _BROKER, "", {broker_name: value})
        try:
            await eventually_async(code, lambda found: found != ErrorCode.NONE)
        finally:
            await alter(topic.client, _BROKER, "", {broker_name: usual})
        await eventually_async(code, lambda found: found == ErrorCode.NONE)

    play(brisk_server.port, fresh_name(), scenario)


@pytest.mark.parametrize("for_all", [False, True], ids=["topic", "all brokers"])
def test_the_time_that_records_get_and_their_compression_change_at_once(
    brisk_server: Server, fresh_name: Callable[[], str], for_all: bool
) -> None:
    async def scenario(topic: Topic) -> None:
        async def stored() -> tuple[TimestampType, Codec]:
            row = await topic.produce(batch(now_ms(), value=b"x" * 1000))
            header = parse_header(await topic.fetch(row.base_offset))
            return header.timestamp_type, header.codec

        assert await stored() == (TimestampType.CREATE_TIME, Codec.NONE)
        changed = (TimestampType.LOG_APPEND_TIME, Codec.GZIP)
        if not for_all:
            await topic.set(message_timestamp_type="LogAppendTime", compression_type="gzip")
            await eventually_async(stored, lambda found: found == changed)
            return
        wanted = {"log_message_timestamp_type": "LogAppendTime", "compression_type": "gzip"}
        usual = {"log_message_timestamp_type": "CreateTime", "compression_type": "producer"}
        await alter(topic.client, _BROKER, "", wanted)
        try:
            await eventually_async(stored, lambda found: found == changed)
        finally:
            await alter(topic.client, _BROKER, "", usual)

    play(brisk_server.port, fresh_name(), scenario)


def test_a_new_default_retention_acts_on_topics_without_their_own(
    brisk_server: Server, fresh_name: Callable[[], str]
) -> None:
    async def scenario(topic: Topic) -> None:
        await alter(topic.client, _BROKER, "", {"log_retention_ms": "1"})
        try:
            await eventually_async(lambda: topic.offset(-2), lambda offset: offset == 1)
        finally:
            await alter(topic.client, _BROKER, "", {"log_retention_ms": "-1"})

    play(brisk_server.port, fresh_name(), scenario)
