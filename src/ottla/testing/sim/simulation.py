"""One run: a node and its clients, faults for a while, then peace, and the question whether anything is wrong.

    draw        what the node's settings are, which faults come, how much the clients do
    harm        loads run and faults come, for the time that was asked for
    heal        all faults end; every load comes to its end, and open transactions to theirs
    look        every partition is read, and the history is checked

A run depends on its seed and its length alone. `Report.trace` is a digest of everything that the clients were told:
two runs of the same seed have the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ottla.client import Client, ClientError, IsolationLevel, NewTopic, TopicPartition
from ottla.config.broker_config import single_node_defaults
from ottla.testing.history import FinalCopy, Recorder, Value, check
from ottla.testing.sim.end_state import read_log, read_table
from ottla.testing.sim.faults import FaultPlan, Faults, ServerStaysDown
from ottla.testing.sim.host import SimulatedHost
from ottla.testing.sim.load import (
    TRANSACTION_TIMEOUT_MS,
    CopyLoad,
    Group,
    GroupLoad,
    IdempotentLoad,
    KeyedLoad,
    Load,
    Pace,
    PlainLoad,
    ReadingLoad,
    TransactionalLoad,
    WatchingLoad,
    client_settings,
    read_committed,
)
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import PORT, SimulatedServer

SERVER = "node-1"
ORDERS, PAYMENTS, COPIES, TABLE = "orders", "payments", "copies", "table"
PARTITIONS = {ORDERS: 3, PAYMENTS: 2, COPIES: 2, TABLE: 1}
READERS, COPIERS = "readers", "copiers"
KEY_COUNT = 20
# After everything is healed: no request may be unanswered for longer.
LIVENESS_S = 120.0


@dataclass(slots=True)
class Report:
    """What came of a run."""

    seed: int
    simulated_s: float = 0.0
    anomalies: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    operation_count: int = 0
    callback_count: int = 0
    trace: str = ""

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        lines = [
            f"seed {self.seed}: {self.simulated_s:.0f} s, {self.operation_count} operations, "
            f"{self.callback_count} callbacks, faults: {faults or 'none'}; trace {self.trace}"
        ]
        lines += [f"  {anomaly}" for anomaly in self.anomalies]
        return "\n".join(lines)


def simulate(seed: int, duration_s: float) -> Report:
    """Runs one simulation to its end."""
    return Simulation(seed, duration_s).run()


class Simulation:
    """Everything of one run."""

    def __init__(self, seed: int, duration_s: float) -> None:
        self.report = Report(seed)
        self._duration_s = duration_s
        self._seed = seed
        self.loop = SimulatedLoop()
        self.network = SimulatedNetwork(self.loop, self._chance("network"))
        self.recorder = Recorder()
        self._groups = Group(READERS, [ORDERS, PAYMENTS]), Group(COPIERS, [ORDERS])
        chance = self._chance("settings")
        is_synced = chance.random() < 0.5
        self.server = SimulatedServer(
            self.loop, self.network, SERVER, self._chance("server"), _draw_config(chance, is_synced=is_synced)
        )
        self.loads = self._draw_loads(chance)
        self._hosts: dict[str, SimulatedHost] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        plan = FaultPlan.draw(chance, is_synced=is_synced)
        names = [load.name for load in self.loads]
        self.faults = Faults(
            plan, self.server, self.network, names, self._kill_client, self._look_at_groups, self._chance("faults")
        )

    def _chance(self, purpose: str) -> random.Random:
        """A source of its own for each purpose: what one of them draws changes nothing for the others."""
        return random.Random(f"{self._seed} {purpose}")

    def run(self) -> Report:
        try:
            self.loop.run_until_complete(self._run())
        except ServerStaysDown as error:
            self.report.anomalies.append(str(error))
            self._tell_bugs()
        finally:
            self.report.simulated_s = self.loop.time()
            self.report.callback_count = self.loop.callback_count
            self.report.faults = self.faults.counts
            self.loop.close()
        return self.report

    async def _run(self) -> None:
        await self.faults.bring_up()
        await self._on_new_host("setup", self._create_topics)
        for load in self.loads:
            self._start_client(load)
        harm = asyncio.ensure_future(self.faults.run())
        await asyncio.sleep(self._duration_s)
        self.faults.is_over = True
        await harm
        await self._end_loads()
        # Transactions of clients that died end when their time is over.
        await asyncio.sleep(2 * TRANSACTION_TIMEOUT_MS / 1000)
        await self._on_new_host("look", self._look)
        self._tell_bugs()

    # -- clients ------------------------------------------------------------------------------------------------------

    def _draw_loads(self, chance: random.Random) -> list[Load]:
        pace = Pace(pause_s=chance.choice([5.0, 20.0, 60.0]), records_max=chance.choice([2, 5, 20]))
        base = (f"{SERVER}:{PORT}", self.recorder, pace)
        orders, payments, copies = (list(partitions_of(topic)) for topic in (ORDERS, PAYMENTS, COPIES))
        readers, copiers = self._groups
        return [
            IdempotentLoad("idempotent-1", *base, orders),
            IdempotentLoad("idempotent-2", *base, [*orders, *payments]),
            PlainLoad("plain-1", *base, payments),
            TransactionalLoad("transactional-1", *base, [*orders, *payments]),
            TransactionalLoad("transactional-2", *base, orders),
            CopyLoad("copy-1", *base, copiers, copies),
            GroupLoad("member-1", *base, readers),
            GroupLoad("member-2", *base, readers),
            WatchingLoad("watcher-1", *base, readers, list(partitions_of(*readers.topics))),
            WatchingLoad("watcher-2", *base, copiers, list(partitions_of(*copiers.topics))),
            ReadingLoad("reader-1", *base, [*orders, *payments], IsolationLevel.READ_UNCOMMITTED),
            ReadingLoad("reader-2", *base, [*orders, *copies], IsolationLevel.READ_COMMITTED),
            KeyedLoad("keyed-1", *base, TABLE, KEY_COUNT),
        ]

    def _start_client(self, load: Load) -> None:
        chance = self._chance(f"{load.name} {self.loop.callback_count}")
        host = SimulatedHost(self.loop, self.network, load.name, chance, {})
        self._hosts[load.name] = host
        self._running[load.name] = self.loop.start_on(host, load.run(host, chance))

    def _kill_client(self, name: str) -> None:
        """Ends a client's process between two instructions; another one takes its place."""
        host = self._hosts[name]
        self.loop.drop(host)
        self.network.process_died(host)
        self._start_client(next(load for load in self.loads if load.name == name))

    def _look_at_groups(self) -> None:
        for group in self._groups:
            group.is_worth_a_look.set()

    async def _end_loads(self) -> None:
        for load in self.loads:
            load.end()
        await asyncio.wait(self._running.values(), timeout=LIVENESS_S)
        for name, running in self._running.items():
            if not running.done():
                self.report.anomalies.append(
                    f"{name} did not come to its end within {LIVENESS_S:g} s after everything was healed"
                )
            elif (error := running.exception()) is not None:
                self.report.anomalies.append(f"{name} ended with {type(error).__name__}: {error}")

    async def _on_new_host(self, name: str, work: Any) -> None:
        chance = self._chance(name)
        host = SimulatedHost(self.loop, self.network, name, chance, {})
        settings = client_settings(name, host, chance)

        async def do() -> None:
            async with Client(f"{SERVER}:{PORT}", settings) as client:
                await work(client)

        await self.loop.start_on(host, do())

    async def _create_topics(self, client: Client) -> None:
        topics = [NewTopic(name, count) for name, count in PARTITIONS.items() if name != TABLE]
        compacted = {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "20000",
        }
        topics.append(NewTopic(TABLE, PARTITIONS[TABLE], configs=compacted))
        for outcome in (await client.admin.create_topics(topics)).values():
            if isinstance(outcome, Exception):
                raise outcome

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _look(self, client: Client) -> None:
        try:
            async with asyncio.timeout(LIVENESS_S):
                logs = [await read_log(client, partition) for partition in partitions_of(ORDERS, PAYMENTS, COPIES)]
                table = await read_table(client, TABLE)
                offsets = {
                    group.name: await read_committed(
                        client, self.recorder, group.name, list(partitions_of(*group.topics))
                    )
                    for group in self._groups
                }
        except (TimeoutError, ClientError) as error:
            self.report.anomalies.append(f"a partition cannot be read at the end: {type(error).__name__}: {error}")
            return
        copied = {log.partition: list(map(Value.decode, keys)) for log, keys in logs if log.partition.topic == COPIES}
        copy = FinalCopy(COPIERS, offsets[COPIERS], copied)
        history = self.recorder.history([log for log, _ in logs], copies=[copy])
        self.report.operation_count = len(history.sends) + len(history.offset_commits)
        self.report.anomalies += [str(anomaly) for anomaly in check(history)]
        self.report.anomalies += list(self._table_anomalies(table))
        digest = hashlib.sha256()
        for log, _ in logs:
            digest.update(repr(log).encode())
        digest.update(repr((history.sends, history.offset_commits, history.offset_fetches)).encode())
        self.report.trace = digest.hexdigest()[:16]

    def _table_anomalies(self, table: dict[bytes, int]) -> Iterator[str]:
        (load,) = (load for load in self.loads if isinstance(load, KeyedLoad))
        for key, number in load.acknowledged.items():
            found = table.get(key)
            if found is None or not number <= found <= load.sent[key]:
                yield (
                    f"the compacted topic has {found} for {key.decode()}: {number} was acknowledged, and "
                    f"{load.sent[key]} sent last"
                )

    def _tell_bugs(self) -> None:
        self.report.anomalies += [
            "the node ended with an error that is ours: " + "".join(traceback.format_exception(error))
            for error in self.server.bugs
        ]
        self.report.anomalies += [
            f"an error that nobody took: {failure.get('message')}: {failure.get('exception')!r}"
            for failure in self.loop.failures
        ]


def partitions_of(*topics: str) -> Iterator[TopicPartition]:
    return (TopicPartition(topic, index) for topic in topics for index in range(PARTITIONS[topic]))


def _draw_config(chance: random.Random, *, is_synced: bool) -> dict[str, str]:
    root = Path("/disk-1")
    config = single_node_defaults(root, f"{SERVER}:{PORT}")
    config |= {
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "500",
        # The way to small segments: segment.bytes may not be below a megabyte.
        "log.roll.ms": str(chance.choice([10_000, 60_000, 604_800_000])),
        "log.index.interval.bytes": str(chance.choice([64, 1024, 4096])),
        "metadata.log.max.record.bytes.between.snapshots": str(chance.choice([5_000, 20 * 1024 * 1024])),
        "metadata.max.idle.interval.ms": str(chance.choice([500, 5_000, 5_000, 5_000])),
        "log.cleaner.backoff.ms": "15000",
        "log.flush.offset.checkpoint.interval.ms": str(chance.choice([1_000, 60_000])),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
    }
    if chance.random() < 0.5:
        config["log.dirs"] = "/disk-1,/disk-2"
    if is_synced:
        config["log.flush.interval.messages"] = "1"
    return config
