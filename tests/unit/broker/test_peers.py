"""A broker's connections to other brokers: real ones, and peers that misbehave as they are told."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from immutables import Map

from harness.ports import free_port
from harness.running_node import RunningNode, run_node
from ottla.broker.peers import MARKERS, TRANSACTIONS, Peers, PeerUnavailable, Purpose, UnsupportedByPeer, replica_fetch
from ottla.client.addresses import Address
from ottla.client.errors import ConnectionLost, ConnectionRefused, RequestTimedOut
from ottla.metadata.image import BrokerImage, BrokersImage, ClusterImage, Endpoint
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_response import ApiVersion
from ottla.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from ottla.protocol.messages.write_txn_markers_response import WritableTxnMarkerResult, WriteTxnMarkersResponse
from unit.client.scripted_broker import Peer, with_broker

pytestmark = pytest.mark.timeout(60)

LISTENER = "INTERNAL"
PEER_ID = 2
# What decides here is never the time: a request that should fail at once does so long before.
PATIENCE_S = 600.0
REQUEST = WriteTxnMarkersRequest(markers=[])
SERVES_MARKERS = ApiVersion(api_key=ApiKey.WRITE_TXN_MARKERS, min_version=1, max_version=1)

Test = Callable[[Peers, Address], Awaitable[None]]


def broker(
    address: Address, *, epoch: int = 10, incarnation: bytes = b"i" * 16, listener: str = LISTENER
) -> BrokerImage:
    return BrokerImage(
        id=PEER_ID,
        epoch=epoch,
        incarnation_id=incarnation,
        endpoints=(Endpoint("CLIENTS", "127.0.0.1", 1), Endpoint(listener, address.host, address.port)),
        features=Map(),
        rack=None,
        is_fenced=False,
        is_in_controlled_shutdown=False,
        log_dirs=(),
    )


def image_of(*brokers: BrokerImage) -> ClusterImage:
    found = BrokersImage()
    for one in brokers:
        found = found.with_broker(one)
    return ClusterImage(brokers=found)


def run(script: Callable[[Peer], Awaitable[None]], test: Test) -> None:
    async def with_peers(address: Address) -> None:
        peers = Peers(1, LISTENER)
        peers.image_changed(image_of(broker(address)))
        try:
            await test(peers, address)
        finally:
            await peers.close()

    asyncio.run(with_broker(script, with_peers))


async def send(peers: Peers, purpose: Purpose = MARKERS, timeout_s: float = PATIENCE_S) -> WriteTxnMarkersResponse:
    answer = await peers.send(PEER_ID, purpose, REQUEST, timeout_s=timeout_s)
    assert isinstance(answer, WriteTxnMarkersResponse)
    return answer


async def answering(peer: Peer) -> None:
    """Answers every request; each answer tells how many came before it on this connection."""
    await peer.greet(SERVES_MARKERS)
    count = 0
    while True:
        request = await peer.receive()
        peer.answer(*request, WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=count)]))
        count += 1


async def silent(peer: Peer) -> None:
    """Agrees on versions, and never answers a request."""
    await peer.greet(SERVES_MARKERS)
    await peer.reader.read()


def test_a_real_broker_answers_in_the_newest_version(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        peers = Peers(1, LISTENER)
        peers.image_changed(image_of(broker(Address("127.0.0.1", running.port))))
        # The transaction's version is a field since version 2, and this value of it is refused before the topic is.
        topic = WritableTxnMarkerTopic(name="t", partition_indexes=[0])
        marker = WritableTxnMarker(producer_id=7, topics=[topic], transaction_version=-1)
        request = WriteTxnMarkersRequest(markers=[marker])
        answer = await peers.send(PEER_ID, MARKERS, request, timeout_s=PATIENCE_S)
        assert isinstance(answer, WriteTxnMarkersResponse)
        assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        await peers.close()

    run_node(tmp_path, scenario)


def test_requests_of_one_purpose_share_a_connection_and_purposes_have_their_own() -> None:
    async def test(peers: Peers, _: Address) -> None:
        async def served_before(purpose: Purpose) -> int:
            return (await send(peers, purpose)).markers[0].producer_id

        assert [await served_before(MARKERS) for _ in range(3)] == [0, 1, 2]
        assert await served_before(TRANSACTIONS) == 0
        assert await served_before(replica_fetch(0)) == 0
        assert await served_before(replica_fetch(1)) == 0
        assert await served_before(MARKERS) == 3

    run(answering, test)


def test_requests_that_come_while_the_connection_is_opened_share_it() -> None:
    async def test(peers: Peers, _: Address) -> None:
        answers = await asyncio.gather(*(send(peers) for _ in range(5)))
        assert [answer.markers[0].producer_id for answer in answers] == [0, 1, 2, 3, 4]

    run(answering, test)


def test_a_silent_peer_holds_up_no_other_purpose() -> None:
    polled = asyncio.Event()

    async def first_silent(peer: Peer) -> None:
        if polled.is_set():
            await answering(peer)
        else:
            polled.set()
            await silent(peer)

    async def test(peers: Peers, _: Address) -> None:
        poll = asyncio.ensure_future(send(peers, replica_fetch(0)))
        await polled.wait()
        await send(peers, MARKERS)
        assert not poll.done()
        await peers.close()
        with pytest.raises(PeerUnavailable, match="broker 2: this broker is shutting down"):
            await poll

    run(first_silent, test)


def test_a_peer_that_never_answers_fails_the_request_in_time() -> None:
    async def test(peers: Peers, _: Address) -> None:
        with pytest.raises(PeerUnavailable, match="did not answer WriteTxnMarkers") as failure:
            await send(peers, timeout_s=0.2)
        assert isinstance(failure.value.__cause__, RequestTimedOut)
        assert failure.value.broker_id == PEER_ID

    run(silent, test)


def test_a_peer_that_accepts_and_says_nothing_fails_every_request_in_its_own_time() -> None:
    async def mute(peer: Peer) -> None:
        await peer.reader.read()

    async def test(peers: Peers, _: Address) -> None:
        patient = asyncio.ensure_future(send(peers))
        await asyncio.sleep(0)
        with pytest.raises(PeerUnavailable, match="was not connected in time"):
            await send(peers, timeout_s=0.2)
        assert not patient.done()
        await peers.close()
        patient.cancel()
        await asyncio.gather(patient, return_exceptions=True)

    run(mute, test)


def test_a_broken_connection_fails_who_waits_and_the_next_request_opens_another() -> None:
    has_broken = asyncio.Event()

    async def breaking(peer: Peer) -> None:
        if has_broken.is_set():
            await answering(peer)
        await peer.greet(SERVES_MARKERS)
        await peer.receive()
        await peer.receive()
        has_broken.set()

    async def test(peers: Peers, _: Address) -> None:
        failed = await asyncio.gather(send(peers), send(peers), return_exceptions=True)
        assert [type(error) for error in failed] == [PeerUnavailable] * 2
        assert all(isinstance(error.__cause__, ConnectionLost) for error in failed if isinstance(error, Exception))
        assert (await send(peers)).markers[0].producer_id == 0

    run(breaking, test)


def test_a_refused_port_is_told_from_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        peers = Peers(1, LISTENER)
        peers.image_changed(image_of(broker(Address("127.0.0.1", free_port()))))
        for _ in range(3):
            with pytest.raises(PeerUnavailable, match="refuses connections") as failure:
                await send(peers)
            assert isinstance(failure.value.__cause__, ConnectionRefused)
        await peers.close()

    with caplog.at_level(logging.WARNING, "ottla.broker.peers"):
        asyncio.run(play())
    # However often it is asked.
    assert len(caplog.records) == 1
    assert "Broker 2 does not answer" in caplog.text


@pytest.mark.parametrize("image", [image_of(), image_of(broker(Address("127.0.0.1", 1), listener="OTHER"))])
def test_a_broker_without_an_address_is_not_asked(image: ClusterImage) -> None:
    async def play() -> None:
        peers = Peers(1, LISTENER)
        peers.image_changed(image)
        with pytest.raises(PeerUnavailable, match="not registered with an address for listener INTERNAL"):
            await send(peers)

    asyncio.run(play())


@pytest.mark.parametrize("change", [{"epoch": 11}, {"incarnation": b"j" * 16}])
def test_a_restarted_broker_gets_new_connections(change: dict[str, int]) -> None:
    async def test(peers: Peers, address: Address) -> None:
        assert (await send(peers)).markers[0].producer_id == 0
        # An image that says nothing new about the broker changes nothing.
        peers.image_changed(image_of(broker(address)))
        assert (await send(peers)).markers[0].producer_id == 1
        peers.image_changed(image_of(broker(address, **change)))  # type: ignore[arg-type]
        assert (await send(peers)).markers[0].producer_id == 0

    run(answering, test)


def test_a_request_to_a_broker_that_leaves_fails_at_once() -> None:
    asked = asyncio.Event()

    async def listening(peer: Peer) -> None:
        await peer.greet(SERVES_MARKERS)
        await peer.receive()
        asked.set()
        await peer.reader.read()

    async def test(peers: Peers, address: Address) -> None:
        waiting = asyncio.ensure_future(send(peers))
        await asked.wait()
        peers.image_changed(image_of())
        with pytest.raises(PeerUnavailable, match="restarted, moved, or left"):
            await waiting
        with pytest.raises(PeerUnavailable, match="not registered"):
            await send(peers)
        peers.image_changed(image_of(broker(address)))

    run(listening, test)


def test_a_broker_that_restarts_while_it_is_being_connected_is_not_asked_in_its_old_life() -> None:
    greeted = asyncio.Event()
    may_greet = asyncio.Event()

    async def slow(peer: Peer) -> None:
        greeted.set()
        await may_greet.wait()
        await answering(peer)

    async def test(peers: Peers, address: Address) -> None:
        waiting = asyncio.ensure_future(send(peers))
        await greeted.wait()
        peers.image_changed(image_of(broker(address, epoch=11)))
        may_greet.set()
        with pytest.raises(PeerUnavailable, match="restarted, moved, or left"):
            await waiting
        assert (await send(peers)).markers[0].producer_id == 0

    run(slow, test)


def test_a_peer_that_lacks_the_request_is_told_apart() -> None:
    async def old(peer: Peer) -> None:
        await peer.greet()
        await peer.reader.read()

    async def test(peers: Peers, _: Address) -> None:
        with pytest.raises(UnsupportedByPeer, match="does not serve WriteTxnMarkers"):
            await send(peers)

    run(old, test)


def test_after_close_nothing_is_sent() -> None:
    async def test(peers: Peers, _: Address) -> None:
        await peers.close()
        with pytest.raises(PeerUnavailable, match="shutting down"):
            await send(peers)

    run(answering, test)
