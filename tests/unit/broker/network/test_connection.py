"""What a connection does with clients that are slow, half gone, or hostile."""

import asyncio
import struct
from pathlib import Path
from typing import Any

import pytest

from harness.running_node import RunningNode, run_node
from ottla.broker.network.connection import REQUESTS_PER_TURN, Connection
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.metadata_request import MetadataRequest


def test_what_was_answered_still_leaves_when_the_client_closes_its_side(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        first = client.send(MetadataRequest(topics=[]), 13)
        second = client.send(MetadataRequest(topics=[]), 13)
        client.writer.write_eof()
        await client.receive(MetadataRequest, 13, first)
        await client.receive(MetadataRequest, 13, second)
        assert await client.is_closed_by_peer()
        assert not running.node.listeners[0].connections

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
        (connection,) = running.node.listeners[0].connections
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
        while len(running.node.listeners[0].connections) > 1:
            await admin.call(MetadataRequest(topics=[]))
        await admin.call(MetadataRequest(topics=[]))
        assert not partition._watchers

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
        dispatcher = running.node._dispatcher
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
        assert not running.node.listeners[0].connections

    run_node(tmp_path / "data", scenario)
    assert "failed outside its handler" in caplog.text
