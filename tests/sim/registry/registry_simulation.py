"""Three instances of a registry over three nodes under simulated time: an hour takes a minute, and a seed repeats it.

    harm    clients register, ask and delete; instances and nodes die, sleep and cannot hear each other
    heal    everything comes back, and a change is made
    look    what clients were told is compared with what is in the topic (`harness.schema_history`)

HTTP is left out: clients ask an instance on its own machine, and one that does not lead names another, once. What a
machine was asked that dies or sleeps is not answered.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from harness.schema_history import Deleting, Event, Found, LogEntry, Registered, anomalies
from harness.schema_log import read_log
from ottla.client import Client, ClientError
from ottla.registry.change import Change
from ottla.registry.deletion import delete_version
from ottla.registry.election import Identity
from ottla.registry.errors import RegistryError
from ottla.registry.instance import InstanceSettings, RegistryInstance
from ottla.registry.registration import Registration, register_schema
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from ottla.schemas.compatibility import CompatibilityLevel
from ottla.schemas.schema import Schema
from ottla.testing.sim.cluster import ClusterOfThree
from ottla.testing.sim.host import SimulatedHost
from ottla.testing.sim.load import client_settings
from ottla.testing.sim.loop import Power, SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import Life, SimulatedServer

T = TypeVar("T")
TOPIC: Final = "_schemas"
INSTANCES: Final = 3
CLIENTS: Final = 4
SUBJECTS: Final = 3
BURST: Final = 3
# How long a client waits for an answer.
PATIENCE_S: Final = 25.0
PAUSE_S: Final = 1.0
BETWEEN_FAULTS_S: Final = 6.0
LONGEST_FAULT_S: Final = 25.0
# After everything is healed.
LIVENESS_S: Final = 120.0


class SimulatedInstance:
    """A machine that runs an instance, in one life after the other."""

    def __init__(self, world: RegistrySimulation, number: int) -> None:
        self.name = f"registry-{number}"
        self.instance: RegistryInstance | None = None
        self.host: SimulatedHost | None = None
        self._world = world
        # Kept: a task that nobody knows would be collected.
        self._lives: list[asyncio.Task[None]] = []
        self._settings = InstanceSettings(Identity(self.name, 8081), defaults=Defaults(level=CompatibilityLevel.NONE))
        # The highest id that this life has known: what it knows must not become less.
        self.highest_id = 0

    def start(self) -> None:
        world = self._world
        life = f"{self.name}.{len(self._lives)}"
        self.host = SimulatedHost(world.loop, world.network, self.name, world.chance_of(life), {})
        self.highest_id = 0
        self._lives.append(world.loop.start_on(self.host, self._live(self.host, world.chance_of(f"client of {life}"))))

    async def _live(self, host: SimulatedHost, chance: random.Random) -> None:
        settings = client_settings(self.name, host, chance)
        while True:
            try:
                async with Client(self._world.cluster.bootstrap, settings) as client:
                    instance = RegistryInstance(client, self._settings)
                    await instance.start()
                    self.instance = instance
                    await asyncio.Event().wait()
            except ClientError:
                # As a supervisor does.
                await asyncio.sleep(1.0)

    def kill(self) -> None:
        assert self.host is not None
        self.instance = None
        self._world.loop.drop(self.host)
        self._world.network.process_died(self.host)

    async def stop(self) -> None:
        """As SIGTERM does."""
        if self.instance is not None and self.host is not None:
            stopping = self._world.loop.start_on(self.host, self.instance.stop())
            await asyncio.wait((stopping,), timeout=LONGEST_FAULT_S)
        self.kill()

    def pause(self) -> None:
        assert self.host is not None
        self.host.power = Power.PAUSED

    def resume(self) -> None:
        assert self.host is not None
        if self.host.power is Power.PAUSED:
            self._world.loop.resume(self.host)

    async def ask(self, question: Callable[[RegistryInstance], Awaitable[T]]) -> T | None:
        """The answer; None if it is an error, or if none comes."""
        if self.instance is None or self.host is None:
            return None
        asking = self._world.loop.start_on(self.host, _answer(question, self.instance))
        done, _ = await asyncio.wait((asking,), timeout=PATIENCE_S)
        return asking.result() if done else None


async def _answer(question: Callable[[RegistryInstance], Awaitable[T]], instance: RegistryInstance) -> T | None:
    try:
        return await question(instance)
    except RegistryError:
        return None


@dataclass(slots=True)
class Report:
    seed: int
    anomalies: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    registered: int = 0
    failed: int = 0
    simulated_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.simulated_s:.0f} s, {self.registered} registrations, {self.failed} failures, "
            f"{dict(sorted(self.faults.items()))}; {self.anomalies or 'no anomalies'}"
        )


class RegistrySimulation:
    def __init__(self, seed: int, duration_s: float) -> None:
        self.report = Report(seed)
        self.loop = SimulatedLoop()
        self.network = SimulatedNetwork(self.loop, self.chance_of("network"))
        self.cluster = ClusterOfThree(self.loop, self.network, self.chance_of("settings"), self.chance_of)
        self.instances = [SimulatedInstance(self, number) for number in range(INSTANCES)]
        self._chance = self.chance_of("faults")
        self._duration_s = duration_s
        self._events: list[Event] = []
        self._is_over = False

    def chance_of(self, purpose: str) -> random.Random:
        return random.Random(f"{self.report.seed} {purpose}")

    def run(self) -> Report:
        try:
            self.loop.run_until_complete(self._run())
        finally:
            self.report.simulated_s = self.loop.time()
            self.loop.close()
        self.report.registered = sum(isinstance(event, Registered) for event in self._events)
        self.report.anomalies += [f"{one.get('message')}: {one.get('exception')!r}" for one in self.loop.failures]
        return self.report

    async def _run(self) -> None:
        await self._bring_up()
        for one in self.instances:
            one.start()
        clients = [asyncio.ensure_future(self._use(number)) for number in range(CLIENTS)]
        harm = asyncio.ensure_future(self._do_harm())
        await asyncio.sleep(self._duration_s)
        self._is_over = True
        await harm
        await asyncio.wait(clients)
        for client in clients:
            client.result()
        await self._bring_up()
        await self._look()

    async def _bring_up(self) -> None:
        while not all(server.is_up for server in self.cluster.servers):
            for server in self.cluster.servers:
                if server.life is Life.DOWN:
                    server.start()
            await asyncio.sleep(0.5)

    # -- clients ------------------------------------------------------------------------------------------------------

    async def _use(self, number: int) -> None:
        chance = self.chance_of(f"client {number}")
        names = (f"c{number}n{count}" for count in itertools.count())
        while not self._is_over:
            await asyncio.sleep(chance.expovariate(1 / PAUSE_S))
            kind = chance.random()
            subject = f"shared{chance.randrange(SUBJECTS)}"
            known = [event for event in self._events[-100:] if isinstance(event, Registered)]
            known = [event for event in known if event.subject.startswith("shared")]
            if kind < 0.6 or not known:
                # Several at once: the second is decided as soon as the first was answered.
                texts = [_text(next(names)) for _ in range(BURST)]
                await asyncio.gather(*(self._register(chance, subject, text) for text in texts))
            elif kind < 0.7:
                await self._register(chance, subject, chance.choice(known).text)
            elif kind < 0.95:
                await self._read(chance.choice(self.instances), chance.choice(known))
            else:
                await self._delete(chance, f"own{number}", _text(next(names)))

    async def _register(self, chance: random.Random, subject: str, text: str) -> int | None:
        stored = await self._change(chance, _registering(subject, text))
        if stored is None:
            self.report.failed += 1
            return None
        self._events.append(Registered(subject, text, stored.stored.id))
        return stored.stored.version

    async def _delete(self, chance: random.Random, subject: str, text: str) -> None:
        version = await self._register(chance, subject, text)
        if version is not None:
            self._events.append(Deleting(subject, text))
            for is_permanent in (False, True):
                decide = partial(delete_version, subject=subject, version=version, is_permanent=is_permanent)
                await self._change(chance, lambda instance, decide=decide: instance.write(decide))

    async def _change(self, chance: random.Random, request: Callable[[RegistryInstance], Awaitable[Any]]) -> Any:
        asked = chance.choice(self.instances)
        if asked.instance is not None and not asked.instance.is_leading:
            leader = asked.instance.leader
            asked = next((one for one in self.instances if leader is not None and one.name == leader.host), asked)
        return await asked.ask(request)

    async def _read(self, asked: SimulatedInstance, known: Registered) -> None:
        """Asks for something that was acknowledged. An instance looks again before it denies it."""
        found = await asked.ask(partial(_find, schema_id=known.schema_id))
        if found is None:
            return
        text, highest_id, instance = found
        self._events.append(Found(known.schema_id, text, asked.name))
        if asked.instance is instance:
            if highest_id < asked.highest_id:
                self.report.anomalies.append(f"{asked.name} forgot id {asked.highest_id}")
            asked.highest_id = highest_id

    # -- harm ---------------------------------------------------------------------------------------------------------

    async def _do_harm(self) -> None:
        chance = self._chance
        of_instances = [self._kill, self._kill, self._stop, self._sleep, self._sleep, self._cut]
        kinds = [*of_instances, self._kill_node, self._sleep_node]
        while not self._is_over:
            await asyncio.sleep(chance.expovariate(1 / BETWEEN_FAULTS_S))
            fault = chance.choice(kinds)
            self.report.faults[fault.__name__.lstrip("_")] += 1
            await fault()
        for one in self.instances:
            one.resume()

    def _victim(self) -> SimulatedInstance:
        """The one that leads, more often than not."""
        leading = [one for one in self.instances if one.instance is not None and one.instance.is_leading]
        return self._chance.choice(leading if leading and self._chance.random() < 0.6 else self.instances)

    async def _while_it_lasts(self) -> None:
        await asyncio.sleep(self._chance.random() * self._chance.choice((1.0, LONGEST_FAULT_S)))

    async def _kill(self) -> None:
        victim = self._victim()
        victim.kill()
        await self._while_it_lasts()
        victim.start()

    async def _stop(self) -> None:
        victim = self._victim()
        await victim.stop()
        victim.start()

    async def _sleep(self) -> None:
        victim = self._victim()
        victim.pause()
        await self._while_it_lasts()
        victim.resume()

    async def _cut(self) -> None:
        """An instance and some of the nodes do not hear each other."""
        victim = self._victim()
        servers = self._chance.sample(self.cluster.servers, self._chance.randint(1, len(self.cluster.servers)))
        for server in servers:
            self.network.clog(victim.name, server.name)
        await self._while_it_lasts()
        for server in servers:
            self.network.clear(victim.name, server.name)

    async def _kill_node(self) -> None:
        server = await self._spare_node()
        server.kill()
        await self._while_it_lasts()
        server.start()

    async def _sleep_node(self) -> None:
        server = await self._spare_node()
        server.pause()
        await self._while_it_lasts()
        server.resume()

    async def _spare_node(self) -> SimulatedServer:
        """One that the others can do without: everything is in sync."""
        while not self.cluster._is_whole():  # noqa: ASYNC110 - in simulated time that costs nothing
            await asyncio.sleep(0.5)
        return self._chance.choice(self.cluster.servers)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        deadline_s = self.loop.time() + LIVENESS_S
        chance = self.chance_of("end")
        while await self._register(chance, "end", _text("end")) is None:
            if self.loop.time() > deadline_s:
                self.report.anomalies.append(f"no change was made within {LIVENESS_S:g} s after everything was healed")
                return
            await asyncio.sleep(1.0)
        host = SimulatedHost(self.loop, self.network, "judge", chance, {})
        log = await self.loop.start_on(host, self._read_log(host, chance))
        self.report.anomalies += anomalies(self._events, log)

    async def _read_log(self, host: SimulatedHost, chance: random.Random) -> list[LogEntry]:
        async with Client(self.cluster.bootstrap, client_settings("judge", host, chance)) as client:
            return await read_log(client, TOPIC)


def _text(name: str) -> str:
    return f'{{"type":"enum","name":"E","symbols":["{name}"]}}'


def _registering(subject: str, text: str) -> Callable[[RegistryInstance], Awaitable[Any]]:
    async def register(instance: RegistryInstance) -> Any:
        asked = Registration(subject, Schema(text))

        def decide(state: RegistryState) -> Change[Any]:
            return register_schema(state, asked, defaults=instance.defaults, parse=instance.parser(state))

        return await instance.write(decide)

    return register


async def _find(instance: RegistryInstance, schema_id: int) -> tuple[str | None, int, RegistryInstance]:
    if instance.state.with_id(".", schema_id) is None:
        await instance.refresh()
    state: RegistryState = instance.state
    stored = state.with_id(".", schema_id)
    return None if stored is None else stored.schema.text, state.highest_ids.get(".", 0), instance
