"""What the clients of a run do: the topics, the groups, the loads on them, and the question what became of it all."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from ottla.client import Client, ClientError, IsolationLevel, NewTopic, TopicPartition
from ottla.testing.history import Anomaly, AnomalyKind, FinalCopy, Promise, Recorder, Value, check
from ottla.testing.sim.admin_load import AdminLoad
from ottla.testing.sim.clients import LIVENESS_S
from ottla.testing.sim.end_state import read_log, read_table
from ottla.testing.sim.load import (
    CopyLoad,
    EndsLoad,
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
    read_committed,
)

ORDERS, PAYMENTS, COPIES, TABLE = "orders", "payments", "copies", "table"
PARTITIONS = {ORDERS: 3, PAYMENTS: 2, COPIES: 2, TABLE: 1}
READERS, COPIERS = "readers", "copiers"
KEY_COUNT = 20


class Workload:
    """The loads of a run, and everything that they were told."""

    def __init__(self, bootstrap: str, promise: Promise, chance: random.Random, life: Callable[[], int | None]) -> None:
        """`promise` is what the servers keep of that which they acknowledge.

        `life` tells which life the server is in, None if another one may take over from it at any time.
        """
        self._promise = promise
        self.anomalies: list[Anomaly] = []
        self.operation_count = 0
        # A digest of everything that the clients were told.
        self.trace = ""
        self._recorder = Recorder()
        self._groups = Group(READERS, [ORDERS, PAYMENTS]), Group(COPIERS, [ORDERS])
        pace = Pace(pause_s=chance.choice([5.0, 20.0, 60.0]), records_max=chance.choice([2, 5, 20]))
        base = (bootstrap, self._recorder, pace)
        orders, payments, copies = (list(partitions_of(topic)) for topic in (ORDERS, PAYMENTS, COPIES))
        readers, copiers = self._groups
        self._keyed = KeyedLoad("keyed-1", *base, TABLE, KEY_COUNT)
        self._ends = EndsLoad("ends-1", *base, [*orders, *payments])
        self._admin = AdminLoad("admin-1", *base, life)
        self.loads: list[Load] = [
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
            self._ends,
            self._keyed,
            self._admin,
        ]

    def draw_attention(self) -> None:
        """Something has happened after which the groups, and the ends of partitions, are worth a look."""
        self._ends.is_worth_a_look.set()
        for group in self._groups:
            group.is_worth_a_look.set()

    def stale_answers(self) -> AbstractContextManager[None]:
        """For as long as it lasts, a former leader may not know that it was replaced."""
        return self._recorder.stale_answers()

    async def create_topics(self, client: Client) -> None:
        topics = [NewTopic(name, count) for name, count in PARTITIONS.items() if name != TABLE]
        compacted = {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "20000",
        }
        topics.append(NewTopic(TABLE, PARTITIONS[TABLE], configs=compacted))
        for outcome in (await client.admin.create_topics(topics)).values():
            if outcome.error is not None:
                raise outcome.error

    async def look(self, client: Client) -> None:
        """Reads everything, and checks the history against it."""
        try:
            async with asyncio.timeout(LIVENESS_S):
                logs = [await read_log(client, partition) for partition in partitions_of(ORDERS, PAYMENTS, COPIES)]
                table = await read_table(client, TABLE)
                offsets = {
                    group.name: await read_committed(
                        client, self._recorder, group.name, list(partitions_of(*group.topics))
                    )
                    for group in self._groups
                }
                await self._admin.look(client)
        except (TimeoutError, ClientError) as error:
            what = f"a partition cannot be read at the end: {type(error).__name__}: {error}"
            self.anomalies.append(Anomaly(AnomalyKind.NO_PROGRESS, what))
            return
        copied = {log.partition: list(map(Value.decode, keys)) for log, keys in logs if log.partition.topic == COPIES}
        copy = FinalCopy(COPIERS, offsets[COPIERS], copied)
        promises = {log.partition: self._promise for log, _ in logs}
        history = self._recorder.history([log for log, _ in logs], promises, copies=[copy])
        self.operation_count = len(history.sends) + len(history.offset_commits) + self._admin.topics.change_count
        self.anomalies += check(history)
        self.anomalies += self._table_anomalies(table)
        self.anomalies += self._admin.anomalies
        digest = hashlib.sha256()
        for log, _ in logs:
            digest.update(repr(log).encode())
        digest.update(repr(self._admin.topics).encode())
        digest.update(repr((history.sends, history.offset_commits, history.offset_fetches)).encode())
        self.trace = digest.hexdigest()[:16]

    def _table_anomalies(self, table: dict[bytes, int]) -> Iterator[Anomaly]:
        for key, number in self._keyed.acknowledged.items():
            found = table.get(key)
            if found is None or not number <= found <= self._keyed.sent[key]:
                yield Anomaly(
                    AnomalyKind.STALE_KEY,
                    f"the compacted topic has {found} for {key.decode()}: {number} was acknowledged, and "
                    f"{self._keyed.sent[key]} sent last",
                )


def partitions_of(*topics: str) -> Iterator[TopicPartition]:
    return (TopicPartition(topic, index) for topic in topics for index in range(PARTITIONS[topic]))
