"""The connections of a client, and what runs in its background."""

import asyncio
import gc
from typing import Any

import pytest

from harness.ports import free_port
from ottla.client.addresses import Address
from ottla.client.cluster import ClientSettings, Cluster
from ottla.client.errors import BrokerUnreachable, ConnectionLost, ConnectionRefused, KafkaError, RequestTimedOut
from ottla.client.metadata import Node
from ottla.client.retries import Retry, RetryPolicy
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.metadata_response import MetadataResponse
from unit.client.scripted_broker import Peer, with_broker


def test_a_connection_that_fails_after_its_caller_has_given_up_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []

    async def keep_silent(peer: Peer) -> None:
        await peer.receive()
        await peer.receive()

    async def ask(address: Address) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        cluster = Cluster([address], ClientSettings(connect_timeout_ms=50))
        with pytest.raises(RequestTimedOut):
            await cluster.retry(lambda: cluster.refresh(()), what="asking", timeout_ms=10)
        while cluster._background:
            await asyncio.wait(set(cluster._background))
        gc.collect()
        await cluster.close()

    asyncio.run(with_broker(keep_silent, ask))
    assert reported == []


def test_work_that_its_owner_forgets_goes_on_and_ends_with_the_cluster() -> None:
    reported: list[dict[str, Any]] = []
    ended: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        cluster = Cluster([Address("127.0.0.1", free_port())])
        cluster.in_background(wait_for_ever(), "waiting")
        await asyncio.sleep(0)
        gc.collect()
        assert ended == []
        await cluster.close()
        assert ended == ["waiting"]

    asyncio.run(main())
    assert reported == []


def test_who_asked_for_it_hears_what_is_tried_again_and_why() -> None:
    heard: list[Retry] = []
    failures = [KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE), BrokerUnreachable("127.0.0.1:1 refuses connections")]

    async def main() -> None:
        settings = ClientSettings(retry=RetryPolicy(initial_ms=1, max_ms=1), on_retry=heard.append)
        cluster = Cluster([Address("127.0.0.1", free_port())], settings)
        left = list(failures)

        async def call() -> str:
            if left:
                raise left.pop(0)
            return "done"

        assert await cluster.retry(call, what="asking", timeout_ms=60_000) == "done"
        await cluster.close()

    asyncio.run(main())
    assert [(retry.what, retry.error) for retry in heard] == [("asking", failure) for failure in failures]
    assert all(retry.left_s is not None and retry.failing_s + retry.left_s <= 60.1 for retry in heard)


def test_what_waits_at_the_old_address_of_a_broker_that_has_moved_may_be_asked_again() -> None:
    async def keep_silent(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def move(old: Address, new: Address) -> None:
        cluster = Cluster([old])
        cluster.metadata.nodes = {1: Node(1, old)}
        connection = await cluster.connection(1)
        waiting = asyncio.create_task(connection.request(MetadataRequest(), MetadataResponse))
        await asyncio.sleep(0)
        cluster.metadata.nodes = {1: Node(1, new)}
        assert (await cluster.connection(1)).address == new
        with pytest.raises(ConnectionLost, match="broker 1 is at") as lost:
            await waiting
        assert lost.value.is_retriable
        await cluster.close()

    async def with_two_brokers(old: Address) -> None:
        await with_broker(keep_silent, lambda new: move(old, new))

    asyncio.run(with_broker(keep_silent, with_two_brokers))


def test_a_broker_that_refuses_is_told_with_its_announced_address() -> None:
    async def main() -> None:
        cluster = Cluster([Address("127.0.0.1", free_port())])
        cluster.metadata.nodes = {1: Node(1, cluster.bootstrap[0])}
        with pytest.raises(ConnectionRefused, match=r"broker 1 announces itself there \(advertised.listeners\)"):
            await cluster.connection(1)
        await cluster.close()

    asyncio.run(main())
