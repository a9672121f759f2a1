"""When a lane opens a connection, with connections that a test makes and breaks."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from ottla.broker import lane as module
from ottla.broker.lane import Lane
from ottla.client.addresses import Address
from ottla.client.errors import BrokerUnreachable, ClientError

HERE, THERE = Address("here", 9092), Address("there", 9092)


class PaperConnection:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.end: ClientError | None = None

    @property
    def is_open(self) -> bool:
        return self.end is None

    def abort(self, error: ClientError) -> None:
        self.end = error


class PaperNetwork:
    """Notes when somebody connects, and refuses as often as it is told."""

    def __init__(self) -> None:
        self.refusals = 0
        self.attempts: list[tuple[Address, float]] = []
        self.takes_connections = asyncio.Event()
        self.takes_connections.set()

    async def open_connection(self, address: Address, **settings: object) -> PaperConnection:
        self.attempts.append((address, asyncio.get_running_loop().time()))
        await self.takes_connections.wait()
        if self.refusals:
            self.refusals -= 1
            raise BrokerUnreachable(f"{address} refuses")
        return PaperConnection(address)


def play(monkeypatch: pytest.MonkeyPatch, scenario: Callable[[PaperNetwork], Awaitable[None]]) -> None:
    async def on_paper() -> None:
        network = PaperNetwork()
        monkeypatch.setattr(module, "open_connection", network.open_connection)
        await scenario(network)

    asyncio.run(on_paper())


def test_a_connection_is_shared_until_it_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(network: PaperNetwork) -> None:
        lane = Lane("test")
        first, second = await asyncio.gather(lane.connected(HERE, 1.0), lane.connected(HERE, 1.0))
        assert first is second
        lane.drop("it may never answer")
        assert await lane.connected(HERE, 1.0) is not first
        assert len(network.attempts) == 2

    play(monkeypatch, scenario)


def test_another_address_ends_the_connection_to_the_former_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(network: PaperNetwork) -> None:
        lane = Lane("test")
        former = await lane.connected(HERE, 1.0)
        assert (await lane.connected(THERE, 1.0)).address == THERE
        assert not former.is_open

    play(monkeypatch, scenario)


def test_attempts_at_one_address_get_rarer_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(network: PaperNetwork) -> None:
        network.refusals = 3
        patient, impatient = Lane("test", backoff_s=0.02, backoff_s_max=0.03), Lane("test")
        for _ in range(3):
            with pytest.raises(BrokerUnreachable):
                await patient.connected(HERE, 1.0)
        await patient.connected(HERE, 1.0)
        times = [at_s for _, at_s in network.attempts]
        pauses_s = [later - former for former, later in pairwise(times)]
        assert all(pause_s >= least_s for pause_s, least_s in zip(pauses_s, (0.02, 0.03, 0.03), strict=True))
        network.refusals = 1
        with pytest.raises(BrokerUnreachable):
            await impatient.connected(HERE, 1.0)
        assert impatient._failed_address is None

    play(monkeypatch, scenario)


def test_a_lane_that_has_ended_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(network: PaperNetwork) -> None:
        lane = Lane("test")
        network.takes_connections.clear()
        opening = asyncio.ensure_future(lane.connected(HERE, 1.0))
        await asyncio.sleep(0)
        lane.end("the peer has restarted")
        network.takes_connections.set()
        for attempt in (opening, lane.connected(HERE, 1.0)):
            with pytest.raises(BrokerUnreachable, match="the peer has restarted"):
                await attempt
        assert len(network.attempts) == 1
        assert lane.connection is None

    play(monkeypatch, scenario)
