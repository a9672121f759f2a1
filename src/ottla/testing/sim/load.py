"""What the clients of a simulation do, and write down.

Each load is a program on a machine of its own. It lives until it is killed or told to end; whatever its broker does to
it, it goes on. Each life has a name of its own in the history: what a dead process had under way may still take effect.

- `IdempotentLoad`, `PlainLoad`: records to some partitions, several under way.
- `TransactionalLoad`: transactions over several partitions, committed or aborted.
- `CopyLoad`: consumes, transforms, produces, each step one transaction; the key of what it writes is what it read.
- `GroupLoad`: a member of a group that commits what it has read.
- `WatchingLoad`: asks what a group has committed, often just when it commits.
- `ReadingLoad`: reads everything again and again, and asks where partitions end.
- `EndsLoad`: asks only that, most often just after a fault.
- `KeyedLoad`: ever newer values of a few keys, for a compacted topic.

One more, `AdminLoad`, has a module of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ottla.client import (
    Client,
    ClientError,
    ClientSettings,
    CommitInDoubt,
    CommittedOffset,
    Consumer,
    ConsumerSettings,
    FatalProducerError,
    FetchLimits,
    GroupSettings,
    IsolationLevel,
    OffsetReset,
    OffsetSpec,
    Producer,
    ProducerSettings,
    RebalanceListener,
    Record,
    RequestTimedOut,
    TopicPartition,
)
from ottla.client.delivery import Delivery
from ottla.client.machine import Machine
from ottla.client.retries import Retry
from ottla.testing.history import ProducerKind, Recorder, TransactionResult, Value
from ottla.testing.history.recorder import ConsumerRecorder, PendingOffsetCommit, PendingSend, ProducerRecorder
from ottla.testing.sim.host import SimulatedHost

# Shorter than a client's defaults, so that a short run sees what follows a timeout.
REQUEST_TIMEOUTS_MS = (5_000, 5_000, 20_000)
DELIVERY_TIMEOUT_MS = 30_000
TRANSACTION_TIMEOUT_MS = 15_000
SESSION_TIMEOUT_MS = 20_000
HEARTBEAT_MS = 6_000
# Long, so that idle readers cost little.
POLL_MS = 10_000
LIMITS = FetchLimits(max_wait_ms=3_000)
_PAUSE_AFTER_ERROR_S = 0.5
_ENDS_COUNT = 10
_ENDS_PAUSE_S = 0.5


@dataclass(slots=True)
class Pace:
    """How much a load does: the pause between two rounds, and how many records in one."""

    pause_s: float = 2.0
    records_max: int = 4


def client_settings(client_id: str, host: SimulatedHost, chance: random.Random) -> ClientSettings:
    """How a client on a simulated machine behaves: its clock and its chance are the machine's."""
    machine = Machine(random=chance.random, time_ms=host.now_ms, secret_bytes=chance.randbytes)
    # A patient client may see a leadership go and come back while it waits for an answer.
    timeout_ms = chance.choice(REQUEST_TIMEOUTS_MS)
    return ClientSettings(client_id=client_id, request_timeout_ms=timeout_ms, machine=machine)


class Load(ABC):
    """A client program, through all its lives."""

    def __init__(self, name: str, bootstrap: str, recorder: Recorder, pace: Pace) -> None:
        self.name = name
        self._over = asyncio.Event()
        self._bootstrap = bootstrap
        self._recorder = recorder
        self._pace = pace
        self._life = 0

    async def run(self, host: SimulatedHost, chance: random.Random) -> None:
        """A life: ends when the load is over and everything that was begun has come to its end."""
        self._life += 1
        life = f"{self.name}.{self._life}"
        settings = replace(
            client_settings(life, host, chance), call_timeout_ms=DELIVERY_TIMEOUT_MS, on_retry=self.note_retry
        )
        session = 0
        while not self.is_over:
            session += 1
            try:
                async with Client(self._bootstrap, settings) as client:
                    await self.work(client, f"{life}.{session}", chance)
            except ClientError:
                await asyncio.sleep(_PAUSE_AFTER_ERROR_S)

    @abstractmethod
    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        """Until the load is over, or a ClientError ends what was begun."""

    def note_retry(self, retry: Retry) -> None:
        """A request is about to be repeated; most loads do not care."""
        del retry

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def end(self) -> None:
        """Has the load come to its end."""
        self._over.set()

    async def rest(self, chance: random.Random) -> None:
        """The pause between two rounds; there is none before the end."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), chance.expovariate(1 / self._pace.pause_s))

    def count(self, chance: random.Random) -> int:
        """How many records a round has."""
        return chance.randint(1, self._pace.records_max)


async def _note_delivery(delivery: Delivery, pending: PendingSend) -> None:
    try:
        written = await delivery
    except ClientError:
        # It may have been written, or be written yet.
        return
    pending.ok(written.offset)


class WritingLoad(Load):
    """Writes to some partitions."""

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, partitions: Sequence[TopicPartition]
    ) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._partitions = partitions


class ProducingLoad(WritingLoad):
    """Sends records outside of transactions."""

    kind: ProducerKind
    settings: ProducerSettings

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        recorder = self._recorder.producer(life, self.kind)
        watching: list[asyncio.Task[None]] = []
        async with client.producer(self.settings) as producer:
            while not self.is_over:
                for _ in range(self.count(chance)):
                    partition = chance.choice(self._partitions)
                    pending = recorder.send(partition)
                    delivery = await producer.send(
                        partition.topic, pending.value.encode(), partition=partition.partition
                    )
                    watching.append(asyncio.create_task(_note_delivery(delivery, pending)))
                await self.rest(chance)
                watching = [one for one in watching if not one.done()]
            await asyncio.gather(*watching)


class IdempotentLoad(ProducingLoad):
    kind = ProducerKind.IDEMPOTENT
    settings = ProducerSettings(delivery_timeout_ms=DELIVERY_TIMEOUT_MS)


class PlainLoad(ProducingLoad):
    kind = ProducerKind.ACKS_1
    settings = ProducerSettings(acks=1, idempotent=False, delivery_timeout_ms=DELIVERY_TIMEOUT_MS)


class TransactionalLoad(WritingLoad):
    """Transactions over several partitions."""

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        recorder = self._recorder.producer(life, ProducerKind.TRANSACTIONAL)
        async with client.producer(transactional(self.name)) as producer:
            await producer.init_transactions()
            while not self.is_over:
                await self._transact(producer, recorder, chance)
                await self.rest(chance)

    async def _transact(self, producer: Producer, recorder: ProducerRecorder, chance: random.Random) -> None:
        attempt = TransactionAttempt(producer, recorder)
        try:
            # Two records at least, and no partition gets a second one before each has one: many end in several places.
            turns = itertools.cycle(chance.sample(self._partitions, len(self._partitions)))
            for partition in itertools.islice(turns, 1 + self.count(chance)):
                await attempt.send(partition)
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.random() * 0.1)
            if chance.random() < 0.2:
                await attempt.abort()
            else:
                await attempt.commit()
        except FatalProducerError:
            raise
        except ClientError:
            await attempt.abort()


def transactional(transactional_id: str) -> ProducerSettings:
    return ProducerSettings(
        transactional_id=transactional_id,
        transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        max_block_ms=DELIVERY_TIMEOUT_MS,
    )


async def commit(producer: Producer) -> None:
    """Commits, however often that has to be asked for."""
    while True:
        try:
            return await producer.commit_transaction()
        except CommitInDoubt:
            continue


async def abort(producer: Producer) -> None:
    """Aborts, however often that has to be asked for."""
    while True:
        try:
            return await producer.abort_transaction()
        except RequestTimedOut:
            continue


class TransactionAttempt:
    """A transaction from its begin to what the producer is told of its end."""

    def __init__(self, producer: Producer, recorder: ProducerRecorder) -> None:
        self._producer = producer
        self._recorder = recorder
        self._transaction = recorder.begin()
        self._sends: list[asyncio.Task[None]] = []
        self._commits: list[PendingOffsetCommit] = []
        producer.begin_transaction()

    async def send(self, partition: TopicPartition, key: bytes | None = None) -> None:
        pending = self._recorder.send(partition)
        delivery = await self._producer.send(
            partition.topic, pending.value.encode(), key, partition=partition.partition
        )
        self._sends.append(asyncio.create_task(_note_delivery(delivery, pending)))

    async def send_offsets(
        self, consumer: Consumer, offsets: dict[TopicPartition, int], commits: list[PendingOffsetCommit]
    ) -> None:
        self._commits += commits
        await self._producer.send_offsets_to_transaction(offsets, consumer.group_metadata())

    async def commit(self) -> None:
        """Commits, however often that has to be asked for; ClientError if the transaction cannot be committed."""
        self._transaction.invoke_commit()
        await commit(self._producer)
        self._transaction.end(TransactionResult.COMMITTED)
        for position in self._commits:
            position.ok()

    async def abort(self) -> None:
        await abort(self._producer)
        self._transaction.end(TransactionResult.ABORTED)
        for position in self._commits:
            position.fail()


@dataclass(frozen=True, slots=True)
class Group:
    """A group that members and watchers know: what it reads, and when its offsets are worth a look.

    That is when a member commits, and when the server is back.
    """

    name: str
    topics: Sequence[str]
    is_worth_a_look: asyncio.Event = field(default_factory=asyncio.Event)


class CopyLoad(Load):
    """Consume, transform, produce: every record of some topics comes out once in another."""

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, group: Group, target: Sequence[TopicPartition]
    ) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._group = group
        self._target = target

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        recorder = self._recorder.producer(life, ProducerKind.TRANSACTIONAL)
        settings = ConsumerSettings(
            limits=LIMITS, isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.EARLIEST, auto_commit=False
        )
        async with (
            client.producer(transactional(self.name)) as producer,
            client.consumer(settings, group_settings(self._group.name)) as consumer,
        ):
            await producer.init_transactions()
            consumer.subscribe(self._group.topics)
            while not self.is_over:
                records = await consumer.poll(POLL_MS, max_records=self._pace.records_max)
                if records and not await self._copy(producer, consumer, recorder, records, chance):
                    consumer.reset_to_committed()
                await self.rest(chance)

    async def _copy(
        self,
        producer: Producer,
        consumer: Consumer,
        recorder: ProducerRecorder,
        records: Sequence[Record],
        chance: random.Random,
    ) -> bool:
        attempt = TransactionAttempt(producer, recorder)
        try:
            for record in records:
                await attempt.send(chance.choice(self._target), record.value)
            offsets = {TopicPartition(one.topic, one.partition): one.offset + 1 for one in records}
            name = self._group.name
            commits = [self._recorder.commit_offset(name, place, offset) for place, offset in offsets.items()]
            await attempt.send_offsets(consumer, offsets, commits)
            self._group.is_worth_a_look.set()
            await attempt.commit()
        except FatalProducerError:
            raise
        except ClientError:
            await attempt.abort()
            return False
        return True


def group_settings(group_id: str) -> GroupSettings:
    return GroupSettings(group_id=group_id, session_timeout_ms=SESSION_TIMEOUT_MS, heartbeat_interval_ms=HEARTBEAT_MS)


class _AssignmentNotes(RebalanceListener):
    """Writes down which partitions a member owns."""

    def __init__(self, consumer: Consumer, recorder: ConsumerRecorder, group: str) -> None:
        self._consumer = consumer
        self._recorder = recorder
        self._group = group

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        del partitions
        self._note(self._consumer.assignment)

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self._note(self._consumer.assignment - partitions)

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self._note(self._consumer.assignment - partitions)

    def _note(self, owned: Iterable[TopicPartition]) -> None:
        generation = self._consumer.group_metadata().membership.generation
        self._recorder.assign(self._group, generation, sorted(one for one in owned))


class GroupLoad(Load):
    """A member of a group that reads everything and commits what it has read."""

    def __init__(self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, group: Group) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._group = group

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        recorder = self._recorder.consumer(life, IsolationLevel.READ_UNCOMMITTED)
        settings = ConsumerSettings(limits=LIMITS, offset_reset=OffsetReset.EARLIEST, auto_commit=False)
        async with client.consumer(settings, group_settings(self._group.name)) as consumer:
            consumer.subscribe(self._group.topics, _AssignmentNotes(consumer, recorder, self._group.name))
            while not self.is_over:
                note_polled(recorder, await consumer.poll(POLL_MS))
                await self._commit(consumer)
                if chance.random() < 0.1:
                    await self._look(consumer)
                await self.rest(chance)

    async def _commit(self, consumer: Consumer) -> None:
        offsets = {one: place for one in sorted(consumer.assignment) if (place := consumer.position(one)) is not None}
        if not offsets:
            return
        pending = [self._recorder.commit_offset(self._group.name, one, offset) for one, offset in offsets.items()]
        self._group.is_worth_a_look.set()
        await consumer.commit(offsets)
        for position in pending:
            position.ok()

    async def _look(self, consumer: Consumer) -> None:
        asked = sorted(consumer.assignment)
        invoked = self._recorder.now()
        found = await consumer.committed(asked)
        note_committed(self._recorder, self._group.name, asked, found, invoked=invoked)


def note_committed(
    recorder: Recorder,
    group: str,
    asked: Iterable[TopicPartition],
    found: Mapping[TopicPartition, CommittedOffset],
    *,
    invoked: int,
) -> dict[TopicPartition, int | None]:
    """Writes down what a client was told of a group's committed offsets; by partition, None if there is none."""
    # A broker answers -1 where nothing was committed.
    offsets = {one: found[one].offset if one in found and found[one].offset >= 0 else None for one in asked}
    for one, offset in offsets.items():
        recorder.saw_committed_offset(group, one, offset, invoked=invoked)
    return offsets


async def read_committed(
    client: Client, recorder: Recorder, group: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Asks for a group's committed offsets, and writes down the answer.

    A transaction counts as committed once that is logged, before its offsets show; who needs to see them asks for
    stable ones.
    """
    invoked = recorder.now()
    found = await client.admin.list_group_offsets(group, partitions, require_stable=True)
    return note_committed(recorder, group, partitions, found, invoked=invoked)


class WatchingLoad(Load):
    """Asks what a group has committed, on a connection of its own and often while a commit is under way.

    A coordinator that tells what is not committed yet is found out if it dies then: nobody else would know.
    """

    def __init__(
        self,
        name: str,
        bootstrap: str,
        recorder: Recorder,
        pace: Pace,
        group: Group,
        partitions: Sequence[TopicPartition],
    ) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._group = group
        self._partitions = partitions

    def end(self) -> None:
        super().end()
        self._group.is_worth_a_look.set()

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        del life
        while not self.is_over:
            # Before the look: what happens meanwhile, the end of the load too, is worth another one.
            self._group.is_worth_a_look.clear()
            await read_committed(client, self._recorder, self._group.name, self._partitions)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._group.is_worth_a_look.wait(), chance.expovariate(1 / self._pace.pause_s))
                await asyncio.sleep(chance.random() * 0.000_5)


def note_polled(recorder: ConsumerRecorder, records: Iterable[Record]) -> None:
    by_partition: dict[TopicPartition, list[tuple[int, Value]]] = {}
    for record in records:
        place = TopicPartition(record.topic, record.partition)
        by_partition.setdefault(place, []).append((record.offset, Value.decode(record.value)))
    for place, found in by_partition.items():
        recorder.poll(place, found)


class ReadingLoad(Load):
    """Reads everything from the start, begins anew now and then, and asks where partitions end."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        recorder: Recorder,
        pace: Pace,
        partitions: Sequence[TopicPartition],
        isolation: IsolationLevel,
    ) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._partitions = partitions
        self._isolation = isolation

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        recorder = self._recorder.consumer(life, self._isolation)
        settings = ConsumerSettings(limits=LIMITS, isolation=self._isolation, offset_reset=OffsetReset.EARLIEST)
        async with client.consumer(settings) as consumer:
            consumer.assign(self._partitions)
            for one in self._partitions:
                consumer.seek(one, 0)
                recorder.seek(one, 0)
            while not self.is_over:
                note_polled(recorder, await consumer.poll(POLL_MS))
                if chance.random() < 0.02:
                    one = chance.choice(self._partitions)
                    offset = chance.randint(0, consumer.position(one) or 0)
                    consumer.seek(one, offset)
                    recorder.seek(one, offset)
                if chance.random() < 0.1:
                    invoked = self._recorder.now()
                    ends = await consumer.list_offsets(dict.fromkeys(self._partitions, OffsetSpec.LATEST))
                    for one, end in ends.items():
                        if end.error is not None:
                            continue
                        self._recorder.saw_end_offset(one, self._isolation, end.offset, invoked=invoked)
                await self.rest(chance)


class EndsLoad(Load):
    """Asks where partitions end, again and again for a while after each fault.

    What a new leader says first must not be less than what its predecessor said last.
    """

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, partitions: Sequence[TopicPartition]
    ) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self._partitions = partitions
        self.is_worth_a_look = asyncio.Event()

    def end(self) -> None:
        super().end()
        self.is_worth_a_look.set()

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        del life
        while not self.is_over:
            self.is_worth_a_look.clear()
            for _ in range(_ENDS_COUNT):
                await self._ask(client)
                await asyncio.sleep(chance.random() * _ENDS_PAUSE_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.is_worth_a_look.wait(), chance.expovariate(1 / self._pace.pause_s))

    async def _ask(self, client: Client) -> None:
        invoked = self._recorder.now()
        ends = await client.admin.list_offsets(dict.fromkeys(self._partitions, OffsetSpec.LATEST))
        for one, end in ends.items():
            if end.error is None:
                self._recorder.saw_end_offset(one, IsolationLevel.READ_UNCOMMITTED, end.offset, invoked=invoked)


class KeyedLoad(Load):
    """Ever newer values of a few keys."""

    def __init__(self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, topic: str, key_count: int) -> None:
        super().__init__(name, bootstrap, recorder, pace)
        self.topic = topic
        self._keys = [f"key-{number}".encode() for number in range(key_count)]
        # By key: the newest number that was acknowledged, and the newest that was sent.
        self.acknowledged: dict[bytes, int] = {}
        self.sent: dict[bytes, int] = dict.fromkeys(self._keys, -1)

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        del life
        # Transactional, so that nothing of an earlier life can be written behind what is newer.
        async with client.producer(transactional(self.name)) as producer:
            await producer.init_transactions()
            while not self.is_over:
                await self._write(producer, chance)
                await self.rest(chance)

    async def _write(self, producer: Producer, chance: random.Random) -> None:
        written: dict[bytes, int] = {}
        producer.begin_transaction()
        try:
            for _ in range(self.count(chance)):
                key = chance.choice(self._keys)
                self.sent[key] += 1
                written[key] = self.sent[key]
                await producer.send(self.topic, str(written[key]).encode(), key, partition=0)
            await commit(producer)
        except FatalProducerError:
            raise
        except ClientError:
            await abort(producer)
        else:
            self.acknowledged |= written
