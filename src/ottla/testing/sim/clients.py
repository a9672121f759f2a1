"""The client programs of a run: each on a machine of its own, killed and replaced, and brought to their end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from ottla.client import Client
from ottla.testing.sim.host import SimulatedHost
from ottla.testing.sim.load import Load, client_settings
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork

# After everything is healed: no request may be unanswered for longer.
LIVENESS_S = 120.0


class Clients:
    """Those that run the loads, and others that do one thing and end."""

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        bootstrap: str,
        loads: Sequence[Load],
        chance_of: Callable[[str], random.Random],
    ) -> None:
        """`chance_of` is a source of chance for each purpose."""
        self._loop = loop
        self._network = network
        self._bootstrap = bootstrap
        self._loads = {load.name: load for load in loads}
        self._chance_of = chance_of
        self._hosts: dict[str, SimulatedHost] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._loads)

    def start(self) -> None:
        """Starts every load."""
        for load in self._loads.values():
            self._start(load)

    def _start(self, load: Load) -> None:
        chance = self._chance_of(f"{load.name} {self._loop.callback_count}")
        host = SimulatedHost(self._loop, self._network, load.name, chance, {})
        self._hosts[load.name] = host
        self._running[load.name] = self._loop.start_on(host, load.run(host, chance))

    def kill(self, name: str) -> None:
        """Ends a client's process between two instructions; another one takes its place."""
        host = self._hosts[name]
        self._loop.drop(host)
        self._network.process_died(host)
        self._start(self._loads[name])

    async def end(self) -> list[str]:
        """Has every load come to its end; what is wrong with those that do not."""
        for load in self._loads.values():
            load.end()
        await asyncio.wait(self._running.values(), timeout=LIVENESS_S)
        found = []
        for name, running in self._running.items():
            if not running.done():
                found.append(f"{name} did not come to its end within {LIVENESS_S:g} s after everything was healed")
            elif (error := running.exception()) is not None:
                found.append(f"{name} ended with {type(error).__name__}: {error}")
        return found

    async def run_once(self, name: str, work: Callable[[Client], Awaitable[None]]) -> None:
        """Does something with a client on a machine of its own."""
        chance = self._chance_of(name)
        host = SimulatedHost(self._loop, self._network, name, chance, {})
        settings = client_settings(name, host, chance)

        async def do() -> None:
            async with Client(self._bootstrap, settings) as client:
                await work(client)

        await self._loop.start_on(host, do())
