"""Which connections a node takes, keeps and ends."""

import asyncio
import resource
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker.network import acceptor
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

BROKER = 4
TWO_LISTENERS = {
    "listeners": "CLIENTS://127.0.0.1:0,INTERNAL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INTERNAL:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
}
PING = MetadataRequest(topics=[])


def connection_count(running: RunningNode) -> int:
    return sum(len(acceptor.connections) for acceptor in running.node.acceptors)


async def until(is_so: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + 20
    while not is_so():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.01)


async def alter(running: RunningNode, name: str, value: str) -> None:
    client = await running.connect()
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[config])
    (result,) = (await client.call(IncrementalAlterConfigsRequest(resources=[resource]))).responses
    assert result.error_code == 0, result
    await client.close()


def test_above_max_connections_a_client_waits_until_another_leaves(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        first, second = await running.connect(), await running.connect()
        await first.call(PING)
        await second.call(PING)
        third = await running.connect()
        sent = third.send(PING, 13)
        await first.call(PING)
        assert connection_count(running) == 2
        await second.close()
        await third.receive(MetadataRequest, 13, sent)

    run_node(tmp_path / "data", scenario, {"max.connections": "2"})


def test_a_connection_too_many_from_one_address_is_closed_at_once(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        first = await running.connect()
        await first.call(PING)
        assert await (await running.connect()).is_closed_by_peer()
        await first.call(PING)
        await first.close()
        await until(lambda: connection_count(running) == 0)
        await (await running.connect()).call(PING)

    run_node(tmp_path / "data", scenario, {"max.connections.per.ip": "1"})


def test_clients_that_are_gone_before_they_are_accepted_take_no_slot_of_their_address(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        for _ in range(3):
            # In one turn of the loop: the node sees the connection when the reset is there already.
            with socket.create_connection(("127.0.0.1", running.port)) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            next_in_line = await running.connect()
            await next_in_line.call(PING)
            await next_in_line.close()
            await until(lambda: running.node.broker.socket_server._quotas.count == 0)

    run_node(tmp_path / "data", scenario, {"max.connections.per.ip": "2"})


def test_a_host_may_be_given_a_limit_of_its_own_by_address_or_by_name(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        await (await running.connect()).call(PING)
        await (await running.connect()).call(PING)
        assert await (await running.connect()).is_closed_by_peer()

    for host in ("127.0.0.1", "localhost"):
        overrides = {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": f"{host}:2"}
        if host == "localhost":
            # A name is looked up beside the start, so until then the general limit has to let the first ones in.
            overrides["max.connections.per.ip"] = "2"
        run_node(tmp_path / host, scenario, overrides)


def test_limits_change_while_the_node_runs(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        clients = [await running.connect() for _ in range(3)]
        for client in clients:
            await client.call(PING)
        # The client that changes the limit counts as well, and was not idle.
        await alter(running, "max.connections", "3")
        assert await clients[0].is_closed_by_peer()
        await clients[1].call(PING)
        await clients[2].call(PING)

    run_node(tmp_path / "data", scenario)


def test_the_listener_between_brokers_takes_the_place_of_the_client_that_was_idle_longest(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        clients, internal = running.node.acceptors
        idle, busy = await running.connect(clients.port), await running.connect(clients.port)
        await idle.call(PING)
        await busy.call(PING)
        broker = await running.connect(internal.port)
        await broker.call(PING)
        assert await idle.is_closed_by_peer()
        await busy.call(PING)
        assert connection_count(running) == 2

    run_node(tmp_path / "data", scenario, TWO_LISTENERS | {"max.connections": "2"})


def test_connections_above_the_creation_rate_are_taken_later_and_none_is_lost(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for _ in range(30):
            client = await running.connect()
            await client.call(PING)
        # A burst of twenty is free, ten more come at twenty in a second.
        assert loop.time() - begun > 0.4

    settings = {"max.connection.creation.rate": "20", "quota.window.num": "2", "quota.window.size.seconds": "1"}
    run_node(tmp_path / "data", scenario, settings)


def test_an_idle_connection_is_closed_and_one_that_waits_for_data_is_not(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        (created,) = (await admin.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000))).topics
        waiting = await running.connect()
        row = FetchPartition(partition=0, partition_max_bytes=100)
        wanted = FetchTopic(topic_id=created.topic_id, partitions=[row])
        request = FetchRequest(topics=[wanted], max_wait_ms=600_000, min_bytes=1, max_bytes=100, session_epoch=-1)
        sent = waiting.send(request, 18)
        assert await admin.is_closed_by_peer()
        producer = await running.connect()
        await producer.call(_produce(created.topic_id, batch_of(b"v")))
        await waiting.receive(FetchRequest, 18, sent)

    run_node(tmp_path / "data", scenario, {"connections.max.idle.ms": "1000"})


def test_a_request_that_never_becomes_whole_does_not_keep_a_connection_alive(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        client.writer.write((10_000).to_bytes(4, "big"))

        async def drip() -> None:
            while True:
                client.writer.write(b"\0")
                await asyncio.sleep(0.01)

        dripping = asyncio.get_running_loop().create_task(drip())
        closed = await client.is_closed_by_peer()
        dripping.cancel()
        assert closed

    # Ten thousand bytes would take minutes.
    run_node(tmp_path / "data", scenario, {"connections.max.idle.ms": "300"})


def test_large_requests_wait_for_memory_while_small_ones_pass(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        (created,) = (await admin.call(CreateTopicsRequest(topics=[topic], timeout_ms=1000))).topics
        holder, other = await running.connect(), await running.connect()
        holder.writer.write((1_000_000).to_bytes(4, "big") + bytes(100_000))
        await until(lambda: running.node.broker.dispatcher.request_budget.reserved_bytes == 1_000_000)
        sent = other.send(_produce(created.topic_id, batch_of(bytes(200_000))), 13)
        for _ in range(20):
            await admin.call(PING)
        assert running.node.broker.dispatcher.request_budget.reserved_bytes == 1_000_000
        await holder.close()
        await other.receive(ProduceRequest, 13, sent)
        assert running.node.broker.dispatcher.request_budget.reserved_bytes == 0

    run_node(
        tmp_path / "data", scenario, {"socket.request.max.bytes": "1000000", "queued.max.request.bytes": "1000000"}
    )


def test_sockets_have_the_buffers_that_were_asked_for(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        await (await running.connect()).call(PING)
        (connection,) = running.node.acceptors[0].connections
        accepted = connection._transport.get_extra_info("socket")
        sizes = [accepted.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        # Linux doubles what it is asked for, for its own bookkeeping.
        factor = 2 if sys.platform == "linux" else 1
        assert sizes == [20_000 * factor, 30_000 * factor]

    settings = {"socket.send.buffer.bytes": "20000", "socket.receive.buffer.bytes": "30000"}
    run_node(tmp_path / "data", scenario, settings)


def _produce(topic_id: bytes, records: bytes) -> ProduceRequest:
    row = PartitionProduceData(index=0, records=records)
    return ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[row])]
    )


def test_a_node_without_file_descriptors_serves_on_and_accepts_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "RETRY_SECONDS", 0.05)

    async def scenario(running: RunningNode) -> None:
        first = await running.connect()
        await first.call(PING)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as made_before:
            made_before.setblocking(False)
            # What is open stays open; nothing further is opened.
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            try:
                await asyncio.get_running_loop().sock_connect(made_before, ("127.0.0.1", running.port))
                await first.call(PING)
                await first.call(PING)
                assert connection_count(running) == 1
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            await until(lambda: connection_count(running) == 2)

    run_node(tmp_path / "data", scenario)
