"""A connection against a broker that follows a script."""

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from harness.ports import free_port
from ottla.client.addresses import Address
from ottla.client.connection import Connection, Security, open_connection
from ottla.client.errors import (
    BrokerUnreachable,
    ClientClosed,
    ClientError,
    ConnectionLost,
    ConnectionRefused,
    KafkaError,
    NotKafka,
    RequestTimedOut,
    UnsupportedByBroker,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_groups_response import ListGroupsResponse
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from unit.client.scripted_broker import SERVED, Peer, with_broker


async def open_to(address: Address, **options: object) -> Connection:
    return await open_connection(address, client_id="test", **options)  # type: ignore[arg-type]


async def ask(connection: Connection, **options: object) -> str | None:
    response = await connection.request(MetadataRequest(), MetadataResponse, **options)  # type: ignore[arg-type]
    return response.cluster_id


def run(script: Callable[[Peer], Awaitable[None]], test: Callable[[Address], Awaitable[None]]) -> None:
    asyncio.run(with_broker(script, test))


def test_requests_are_sent_without_waiting_and_answered_in_order() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        requests = [await peer.receive() for _ in range(3)]
        for number, request in enumerate(requests):
            peer.answer(*request, MetadataResponse(cluster_id=f"answer {number}"))
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        assert await asyncio.gather(*(ask(connection) for _ in range(3))) == ["answer 0", "answer 1", "answer 2"]
        await connection.close()

    run(broker, test)


def test_a_large_answer_arrives_in_pieces() -> None:
    names = [f"{number}-" + "x" * 30_000 for number in range(100)]

    async def broker(peer: Peer) -> None:
        await peer.greet()
        key, version, correlation_id = await peer.receive()
        topics = [MetadataResponseTopic(name=name) for name in names]
        peer.answer(key, version, correlation_id, MetadataResponse(topics=topics))
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        response = await connection.request(MetadataRequest(), MetadataResponse)
        assert [topic.name for topic in response.topics] == names
        await connection.close()

    run(broker, test)


def test_no_more_requests_are_under_way_than_allowed() -> None:
    most = 0

    async def broker(peer: Peer) -> None:
        nonlocal most
        await peer.greet()
        for _ in range(3):
            waiting = [await peer.receive(), await peer.receive()]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await peer.reader.read(1)
            most = max(most, len(waiting))
            for request in waiting:
                peer.answer(*request, MetadataResponse())
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address, in_flight_max=2)
        await asyncio.gather(*(ask(connection) for _ in range(6)))
        await connection.close()

    run(broker, test)
    assert most == 2


def test_a_broker_that_does_not_know_our_api_versions_is_asked_in_its_own() -> None:
    asked = []

    async def broker(peer: Peer) -> None:
        key, version, correlation_id = await peer.receive()
        asked.append(version)
        own = [ApiVersion(api_key=18, min_version=0, max_version=2)]
        peer.answer(key, 0, correlation_id, ApiVersionsResponse(error_code=35, api_keys=own))
        key, version, correlation_id = await peer.receive()
        asked.append(version)
        peer.answer(key, version, correlation_id, ApiVersionsResponse(api_keys=SERVED))
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        assert connection.version_of(MetadataRequest) == 13
        await connection.close()

    run(broker, test)
    assert asked == [4, 2]


def test_authentication_comes_after_versions_and_may_ask_the_broker() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.answer_metadata("let in")
        await peer.reader.read()

    seen = []

    async def authenticate(connection: Connection) -> None:
        seen.append(await ask(connection))

    async def test(address: Address) -> None:
        connection = await open_to(address, security=Security(authenticate=authenticate))
        await connection.close()

    run(broker, test)
    assert seen == ["let in"]


def test_failed_authentication_closes_the_connection() -> None:
    closed = asyncio.Event()

    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()
        closed.set()

    async def authenticate(connection: Connection) -> None:
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "wrong password")

    async def test(address: Address) -> None:
        with pytest.raises(KafkaError, match="wrong password"):
            await open_to(address, security=Security(authenticate=authenticate))
        await closed.wait()

    run(broker, test)


def test_silence_ends_the_request_and_the_connection() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        first, second = asyncio.create_task(ask(connection, timeout_ms=50)), asyncio.create_task(ask(connection))
        with pytest.raises(RequestTimedOut, match=r"did not answer Metadata within 0.05 s"):
            await first
        with pytest.raises(ConnectionLost):
            await second
        assert not connection.is_open

    run(broker, test)


def test_a_cancelled_call_leaves_the_others_their_answers() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        requests = [await peer.receive(), await peer.receive()]
        for number, request in enumerate(requests):
            peer.answer(*request, MetadataResponse(cluster_id=f"answer {number}"))
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        first, second = asyncio.create_task(ask(connection)), asyncio.create_task(ask(connection))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "answer 1"
        await connection.close()

    run(broker, test)


def test_a_lost_connection_fails_every_waiting_call_and_every_later_one() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.receive()
        await peer.receive()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        results = await asyncio.gather(ask(connection), ask(connection), return_exceptions=True)
        assert [type(result) for result in results] == [ConnectionLost, ConnectionLost]
        with pytest.raises(ConnectionLost, match="has ended"):
            await ask(connection)

    run(broker, test)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(struct.pack(">i", 4711) + bytes(20), id="another correlation id"),
        pytest.param(b"", id="an empty frame"),
        pytest.param(struct.pack(">i", 2) + b"\0\xff\xff\xff", id="a body that is cut"),
    ],
)
def test_nonsense_from_the_broker_is_refused(frame: bytes) -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.receive()
        peer.send(frame)
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        with pytest.raises(NotKafka):
            await ask(connection)
        assert not connection.is_open

    run(broker, test)


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP server"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "expects TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH server"),
        (b"\xff\xff\xff\xff", "right port"),
    ],
)
def test_another_protocol_is_recognised(says: bytes, expected: str) -> None:
    async def broker(peer: Peer) -> None:
        peer.writer.write(says)
        await peer.reader.read()

    async def test(address: Address) -> None:
        with pytest.raises(NotKafka, match=expected):
            await open_to(address)

    run(broker, test)


def test_tls_at_a_plain_listener_is_told() -> None:
    async def broker(peer: Peer) -> None:
        await peer.reader.read(1)

    async def test(address: Address) -> None:
        with pytest.raises(BrokerUnreachable, match="is it a TLS listener"):
            await open_to(address, security=Security(tls=ssl.create_default_context()))

    run(broker, test)


def test_nobody_listening_is_told_with_the_address() -> None:
    port = free_port()
    with pytest.raises(BrokerUnreachable, match=f"127.0.0.1:{port} refuses connections: is a broker running there"):
        asyncio.run(open_to(Address("127.0.0.1", port)))


def test_an_unknown_host_is_told() -> None:
    with pytest.raises(BrokerUnreachable, match="cannot be resolved"):
        asyncio.run(open_to(Address("no-such-host.invalid", 9092)))


def test_a_listener_that_says_nothing_is_given_up() -> None:
    async def broker(peer: Peer) -> None:
        await peer.reader.read()

    async def test(address: Address) -> None:
        with pytest.raises(ClientError, match=r"did not answer"):
            await open_to(address, connect_timeout_s=0.05)

    run(broker, test)


def test_an_api_that_the_broker_does_not_serve_is_not_sent() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.answer_metadata("still there")
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        with pytest.raises(UnsupportedByBroker, match="ListGroups"):
            await connection.request(ListGroupsRequest(), ListGroupsResponse)
        assert await ask(connection) == "still there"
        await connection.close()

    run(broker, test)


def test_of_several_calls_the_one_whose_time_is_over_hears_so_and_the_others_hear_of_a_lost_connection() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        patient, hasty = asyncio.create_task(ask(connection)), asyncio.create_task(ask(connection, timeout_ms=50))
        with pytest.raises(RequestTimedOut):
            await hasty
        with pytest.raises(ConnectionLost):
            await patient

    run(broker, test)


def test_a_call_whose_time_is_over_before_its_turn_comes_leaves_the_connection_alone() -> None:
    may_answer = asyncio.Event()

    async def broker(peer: Peer) -> None:
        await peer.greet()
        request = await peer.receive()
        await may_answer.wait()
        peer.answer(*request, MetadataResponse(cluster_id="late, but not too late"))
        await peer.reader.read()

    async def test(address: Address) -> None:
        connection = await open_to(address, in_flight_max=1)
        first = asyncio.create_task(ask(connection))
        await asyncio.sleep(0)
        with pytest.raises(RequestTimedOut, match=r"within 0.02 s, so Metadata was not sent"):
            await ask(connection, timeout_ms=20)
        may_answer.set()
        assert await first == "late, but not too late"
        await connection.close()

    run(broker, test)


def test_who_has_nothing_to_ask_is_told_when_the_peer_goes_away() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()

    async def test(address: Address) -> None:
        told: asyncio.Future[ClientError] = asyncio.get_running_loop().create_future()
        connection = await open_to(address, on_end=told.set_result)
        assert isinstance(await told, ConnectionLost)
        assert not connection.is_open

    run(broker, test)


def test_who_closes_a_connection_is_told_once_that_it_was_closed() -> None:
    async def broker(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def test(address: Address) -> None:
        told: list[ClientError] = []
        connection = await open_to(address, on_end=told.append)
        await connection.close()
        await connection.close()
        assert [type(reason) for reason in told] == [ClientClosed]

    run(broker, test)


def test_a_connection_that_was_never_opened_tells_nobody_of_its_end() -> None:
    async def broker(peer: Peer) -> None:
        await peer.receive()

    async def test(address: Address) -> None:
        told: list[ClientError] = []
        with pytest.raises(BrokerUnreachable):
            await open_to(address, on_end=told.append)
        await asyncio.sleep(0)
        assert told == []

    run(broker, test)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_where_nobody_listens_is_another_error_than_a_host_that_cannot_be_found(host: str) -> None:
    with pytest.raises(ConnectionRefused):
        asyncio.run(open_to(Address(host, free_port())))
    with pytest.raises(BrokerUnreachable) as unknown:
        asyncio.run(open_to(Address("no-such-host.invalid", 9092)))
    assert not isinstance(unknown.value, ConnectionRefused)


def test_a_connection_that_reaches_itself_is_a_refusal() -> None:
    """With a port in the range from which the system takes the caller's own ports, that happens by chance."""
    port = free_port()

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        connect = loop.create_connection
        loop.create_connection = partial(connect, local_addr=("127.0.0.1", port))  # type: ignore[method-assign]
        with pytest.raises(ConnectionRefused):
            await open_to(Address("127.0.0.1", port))

    asyncio.run(scenario())


def test_a_peer_that_does_not_read_cannot_keep_a_connection_from_closing() -> None:
    may_end = asyncio.Event()

    async def broker(peer: Peer) -> None:
        await peer.greet()
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await may_end.wait()

    async def test(address: Address) -> None:
        connection = await open_to(address)
        topics = [MetadataRequestTopic(name="x" * 32_000) for _ in range(2_000)]
        stuck = asyncio.create_task(connection.request(MetadataRequest(topics=topics), MetadataResponse))
        await asyncio.sleep(0)
        await connection.close(timeout_s=0.05)
        with pytest.raises(ClientClosed):
            await stuck
        may_end.set()

    run(broker, test)
