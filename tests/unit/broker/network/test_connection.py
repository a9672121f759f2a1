"""What a connection does with clients that are slow, half gone, or hostile."""

import asyncio
import struct
from pathlib import Path
from typing import Any

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.wire import WireClient, framed_request
from ottla.broker.network.connection import REQUESTS_PER_TURN, Connection
from ottla.broker.requests.dispatch import Dispatcher
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.record_batch import batch_records, iterate_headers


def test_what_was_answered_still_leaves_when_the_client_closes_its_side(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        first = client.send(MetadataRequest(topics=[]), 13)
        second = client.send(MetadataRequest(topics=[]), 13)
        client.writer.write_eof()
        await client.receive(MetadataRequest, 13, first)
        await client.receive(MetadataRequest, 13, second)
        assert await client.is_closed_by_peer()
        assert not running.node.acceptors[0].connections

    run_node(tmp_path / "data", scenario)


def test_what_was_asked_before_a_malformed_request_is_still_answered(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        correlation_id = client.send(MetadataRequest(topics=[]), 13)
        client.send_frame(struct.pack(">hhih", 3, 13, 7, -1) + b"\x00\xff\xff\xff\xff\xff\xff")
        await client.receive(MetadataRequest, 13, correlation_id)
        assert await client.is_closed_by_peer()

    run_node(tmp_path / "data", scenario)


def test_each_kind_of_nonsense_costs_its_sender_one_connection_and_nobody_else(tmp_path: Path) -> None:
    nonsense = {
        "a negative length": struct.pack(">i", -1),
        "a length above the limit": struct.pack(">i", 2**31 - 1),
        "a frame without a header": struct.pack(">i", 3) + b"abc",
        "an unknown API": struct.pack(">ihhih", 10, 999, 0, 1, -1),
        "an unknown version": struct.pack(">ihhih", 10, 3, 99, 1, -1),
        "a client id that ends behind the frame": struct.pack(">ihhih", 10, 3, 0, 1, 500),
        "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    }

    async def scenario(running: RunningNode) -> None:
        control = await running.connect()
        for what, data in nonsense.items():
            client = await running.connect()
            client.writer.write(data)
            assert await client.is_closed_by_peer(), what
            await control.call(MetadataRequest(topics=[]))

    run_node(tmp_path / "data", scenario)


def test_an_unknown_version_of_api_versions_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        client.send_frame(struct.pack(">hhih", 18, 99, 5, -1) + b"\x00whatever a future version holds")
        frame = await client.receive_frame()
        correlation_id, error_code, count, key, lowest, highest = struct.unpack_from(">ihihhh", frame)
        assert (correlation_id, error_code, count) == (5, 35, 1)
        assert (key, lowest, highest) == (18, 0, 4)

    run_node(tmp_path / "data", scenario)


def test_a_muted_connection_waits_for_the_longest_of_its_mutes(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await client.call(MetadataRequest(topics=[]))
        (connection,) = running.node.acceptors[0].connections
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.3
        connection.mute(0.3)
        connection.mute(0.01)
        await client.call(MetadataRequest(topics=[]))
        assert loop.time() >= until

    run_node(tmp_path / "data", scenario)


def test_a_client_that_leaves_during_a_long_poll_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        (created,) = (await admin.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000))).topics
        partition = running.node.replicas.partition("orders", 0)
        row = FetchPartition(partition=0, partition_max_bytes=100)
        wanted = FetchTopic(topic_id=created.topic_id, partitions=[row])
        request = FetchRequest(topics=[wanted], max_wait_ms=600_000, min_bytes=1, max_bytes=100, session_epoch=-1)
        for _ in range(5):
            client = await running.connect()
            client.send(request, 18)
            client.writer.write_eof()
            await client.close()
        while len(running.node.acceptors[0].connections) > 1:
            await admin.call(MetadataRequest(topics=[]))
        await admin.call(MetadataRequest(topics=[]))
        assert not partition._watchers

    run_node(tmp_path / "data", scenario)


def acks_0(value: bytes, topic_id: bytes) -> ProduceRequest:
    row = PartitionProduceData(index=0, records=batch_of(value))
    return ProduceRequest(
        acks=0, timeout_ms=1000, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[row])]
    )


async def make_topic(admin: WireClient, configs: dict[str, str] | None = None) -> bytes:
    rows = [CreatableTopicConfig(name=name, value=value) for name, value in (configs or {}).items()]
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1, configs=rows)
    (created,) = (await admin.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000))).topics
    topic_id: bytes = created.topic_id
    return topic_id


async def values_once_gone(running: RunningNode, admin: WireClient) -> list[bytes | None]:
    """What is in the log when nothing is left of the connection that wrote it."""
    while len(running.node.acceptors[0].connections) > 1:
        await admin.call(MetadataRequest(topics=[]))
    log = running.node.replicas.partition("orders", 0).log
    read = log.read(0, 1_000_000, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True)
    headers = list(iterate_headers(read.records))
    return [record.value for at, header in headers for record in batch_records(read.records, header, at)]


def test_what_a_client_sent_behind_a_long_poll_before_it_left_takes_effect(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic_id = await make_topic(admin)
        row = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
        poll = FetchRequest(
            topics=[FetchTopic(topic_id=topic_id, partitions=[row])],
            max_wait_ms=600_000,
            min_bytes=1_000_000,
            max_bytes=2_000_000,
            session_epoch=-1,
        )
        client = await running.connect()
        for number in range(3):
            client.send(poll, 18)
            client.send(acks_0(b"%d" % number, topic_id), 13)
        await client.close()
        assert await values_once_gone(running, admin) == [b"0", b"1", b"2"]
        assert not running.node.replicas.partition("orders", 0)._watchers

    run_node(tmp_path / "data", scenario)


def test_more_requests_than_fit_into_a_turn_take_effect_after_the_client_left(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        # Each batch is opened in a thread, so that each request is waited for.
        topic_id = await make_topic(admin, {"message.timestamp.type": "LogAppendTime", "compression.type": "gzip"})
        client = await running.connect()
        sent = [b"%d" % number for number in range(2 * REQUESTS_PER_TURN)]
        for value in sent:
            client.send(acks_0(value, topic_id), 13)
        # Not complete, so nobody can have meant it.
        client.writer.write(struct.pack(">i", 100_000) + b"the beginning of a large request")
        await client.close()
        assert await values_once_gone(running, admin) == sent
        assert running.node.broker.dispatcher.request_budget.reserved_bytes == 0

    run_node(tmp_path / "data", scenario)


async def leave_behind(running: RunningNode, requests: list[bytes]) -> None:
    """A client sends requests, all of them in one packet, and is gone before more than a turn of them was handled."""
    earlier = running.node.acceptors[0].connections
    await running.connect()
    (connection,) = set(running.node.acceptors[0].connections) - set(earlier)
    received = b"".join(requests)
    connection.get_buffer(len(received))[: len(received)] = received
    connection.buffer_updated(len(received))
    # As if the peer had reset it: whatever the loop does between packets would come too late.
    connection._transport.abort()
    while connection.is_open:  # noqa: ASYNC110 - nothing else tells that the loop has noticed
        await asyncio.sleep(0)


def test_nothing_is_read_for_a_client_that_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatched: list[int] = []
    dispatch = Dispatcher.dispatch

    def note(self: Dispatcher, connection: Connection, frame: bytearray) -> Any:
        dispatched.append(int.from_bytes(frame[:2]))
        return dispatch(self, connection, frame)

    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        # Each batch is opened in a thread, so that the client is gone before the fetches have their turn.
        topic_id = await make_topic(admin, {"message.timestamp.type": "LogAppendTime", "compression.type": "gzip"})
        row = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
        read = FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=[row])], max_bytes=100, session_epoch=-1)
        monkeypatch.setattr(Dispatcher, "dispatch", note)
        writes = [framed_request(acks_0(value, topic_id), 13) for value in (b"first", b"last")]
        await leave_behind(running, [writes[0], *[framed_request(read, 18)] * 10, writes[1]])
        assert await values_once_gone(running, admin) == [b"first", b"last"]
        assert ApiKey.FETCH not in dispatched

    run_node(tmp_path / "data", scenario)


def test_what_a_client_left_behind_takes_effect_though_the_node_stops(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic_id = await make_topic(admin)
        count = 3 * REQUESTS_PER_TURN + 4
        await leave_behind(running, [framed_request(acks_0(b"r", topic_id), 13)] * count)
        await running.node.acceptors[0].stop()
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == count

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize("length", [-5, 2**31 - 1])
def test_what_came_before_a_length_that_cannot_be_takes_effect(tmp_path: Path, length: int) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic_id = await make_topic(admin)
        client = await running.connect()
        sent = [b"%d" % number for number in range(REQUESTS_PER_TURN + 1)]
        asked = framed_request(MetadataRequest(topics=[]), 13, correlation_id=7)
        requests = [framed_request(acks_0(value, topic_id), 13) for value in sent]
        client.writer.write(b"".join([*requests, asked, struct.pack(">i", length), b"and what follows"]))
        await client.receive(MetadataRequest, 13, 7)
        assert await client.is_closed_by_peer()
        assert await values_once_gone(running, admin) == sent

    run_node(tmp_path / "data", scenario)


def test_a_refused_batch_of_a_client_that_left_drops_what_is_behind_it(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic_id = await make_topic(admin, {"message.timestamp.type": "LogAppendTime", "compression.type": "gzip"})
        client = await running.connect()
        client.send(acks_0(b"good", topic_id), 13)
        client.send(acks_0(b"of no topic", bytes(15) + b"1"), 13)
        client.send(acks_0(b"behind it", topic_id), 13)
        await client.close()
        assert await values_once_gone(running, admin) == [b"good"]

    run_node(tmp_path / "data", scenario)


def test_a_request_of_countless_parts_is_not_opened(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        client.send_frame(struct.pack(">hhih", 3, 9, 1, -1) + bytes(11 * 1024 * 1024))
        assert await client.is_closed_by_peer()

    run_node(tmp_path / "data", scenario)


def test_many_pipelined_requests_are_all_answered_in_order(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        sent = [client.send(MetadataRequest(topics=[]), 13) for _ in range(500)]
        for correlation_id in sent:
            await client.receive(MetadataRequest, 13, correlation_id)

    run_node(tmp_path / "data", scenario)


def test_a_request_that_fails_outside_its_handler_ends_the_connection_after_the_answers_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # It is handled in a turn of its own, which no transport watches over.
    answered = REQUESTS_PER_TURN + 5

    async def scenario(running: RunningNode) -> None:
        dispatcher = running.node.broker.dispatcher
        dispatch = dispatcher.dispatch
        calls = 0

        def failing(connection: Connection, frame: bytearray) -> Any:
            nonlocal calls
            calls += 1
            if calls > answered:
                raise RuntimeError("a bug")
            return dispatch(connection, frame)

        monkeypatch.setattr(dispatcher, "dispatch", failing)
        client = await running.connect()
        sent = [client.send(MetadataRequest(topics=[]), 13) for _ in range(answered + 10)]
        for correlation_id in sent[:answered]:
            await client.receive(MetadataRequest, 13, correlation_id)
        assert await client.is_closed_by_peer()
        assert calls == answered + 1
        assert not running.node.acceptors[0].connections

    run_node(tmp_path / "data", scenario)
    assert "failed outside its handler" in caplog.text
