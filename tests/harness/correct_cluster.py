"""A cluster that is correct by construction, its clients, and what they write down.

Every client is a generator that stops wherever another one may go on. Which one goes on is left to a seed. Whatever the
interleaving, the history has no anomaly: a checker that finds one is wrong.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass, replace

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history import (
    FinalLog,
    FinalRecord,
    History,
    ProducerKind,
    Recorder,
    RecordState,
    TransactionResult,
    Value,
)
from ottla.testing.history.recorder import ConsumerRecorder, ProducerRecorder

PARTITIONS = tuple(TopicPartition("t", number) for number in range(3))
GROUP = "g"
POLL_RECORDS_MAX = 5

# True where a client is between two operations.
Client = Generator[bool, None, None]


@dataclass
class Entry:
    """An offset of a log; a marker has no value."""

    value: Value | None
    state: RecordState


class CorrectCluster:
    """Logs, a group, and clients that use them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.recorder = Recorder()
        self.logs: dict[TopicPartition, list[Entry]] = {partition: [] for partition in PARTITIONS}
        self.starts = dict.fromkeys(PARTITIONS, 0)
        self.committed: dict[TopicPartition, int | None] = dict.fromkeys(PARTITIONS)
        self.generation = 0
        self.assignment: dict[str, tuple[TopicPartition, ...]] = {}
        producer, consumer = self.recorder.producer, self.recorder.consumer
        self.clients: list[Client] = [
            self.produce(producer("idempotent", ProducerKind.IDEMPOTENT), 0.0),
            self.produce(producer("all", ProducerKind.ACKS_ALL), 0.1),
            self.produce(producer("one", ProducerKind.ACKS_1), 0.1),
            self.transact(producer("tx1", ProducerKind.TRANSACTIONAL)),
            self.transact(producer("tx2", ProducerKind.TRANSACTIONAL)),
            self.consume(consumer("uncommitted", IsolationLevel.READ_UNCOMMITTED)),
            self.consume(consumer("committed", IsolationLevel.READ_COMMITTED)),
            self.be_member("m1", consumer("m1", IsolationLevel.READ_COMMITTED)),
            self.be_member("m2", consumer("m2", IsolationLevel.READ_UNCOMMITTED)),
            self.watch(),
            self.rebalance(),
            self.retain(),
        ]

    def run(self, steps: int) -> History:
        for _ in range(steps):
            next(self.chance.choice(self.clients))
        for client in self.clients:
            while not next(client):
                pass
        return self.recorder.history([self.final_log(partition) for partition in PARTITIONS])

    def final_log(self, partition: TopicPartition) -> FinalLog:
        log, start = self.logs[partition], self.starts[partition]
        records = [
            FinalRecord(offset, entry.value, entry.state)
            for offset, entry in enumerate(log)
            if offset >= start and entry.value is not None
        ]
        return FinalLog(partition, start, len(log), tuple(records))

    # The cluster.

    def append(self, partition: TopicPartition, value: Value | None, state: RecordState) -> int:
        self.logs[partition].append(Entry(value, state))
        return len(self.logs[partition]) - 1

    def end(self, partition: TopicPartition, isolation: IsolationLevel) -> int:
        log = self.logs[partition]
        if isolation is IsolationLevel.READ_UNCOMMITTED:
            return len(log)
        return next((offset for offset, entry in enumerate(log) if entry.state is RecordState.OPEN), len(log))

    def read(self, partition: TopicPartition, position: int, isolation: IsolationLevel) -> list[tuple[int, Value]]:
        return [
            (offset, entry.value)
            for offset, entry in enumerate(self.logs[partition])
            if position <= offset < self.end(partition, isolation)
            and entry.value is not None
            and (isolation is IsolationLevel.READ_UNCOMMITTED or entry.state.is_visible)
        ][:POLL_RECORDS_MAX]

    # The clients.

    def produce(self, producer: ProducerRecorder, duplicates: float) -> Client:
        chance = self.chance
        while True:
            yield True
            send = producer.send(chance.choice(PARTITIONS))
            yield False
            fate = chance.random()
            if fate < 0.1:
                send.fail()
            elif fate > 0.2:
                offset = self.append(send.partition, send.value, RecordState.PLAIN)
                yield False
                if chance.random() < duplicates:
                    self.append(send.partition, send.value, RecordState.PLAIN)
                    yield False
                if fate > 0.3:
                    send.ok(offset)

    def transact(self, producer: ProducerRecorder) -> Client:
        chance = self.chance
        while True:
            yield True
            transaction = producer.begin()
            written: list[tuple[TopicPartition, Entry]] = []
            for _ in range(chance.randint(1, 4)):
                send = producer.send(chance.choice(PARTITIONS))
                yield False
                offset = self.append(send.partition, send.value, RecordState.OPEN)
                written.append((send.partition, self.logs[send.partition][offset]))
                yield False
                send.ok(offset)
            asks, commits, is_told = chance.random() < 0.7, chance.random() < 0.8, chance.random() < 0.7
            if asks:
                transaction.invoke_commit()
                yield False
            is_committed = asks and commits
            for partition in dict.fromkeys(partition for partition, _ in written):
                self.append(partition, None, RecordState.PLAIN)
                for place, entry in written:
                    if place == partition:
                        entry.state = RecordState.COMMITTED if is_committed else RecordState.ABORTED
                yield False
            if is_told:
                transaction.end(TransactionResult.COMMITTED if is_committed else TransactionResult.ABORTED)

    def consume(self, consumer: ConsumerRecorder) -> Client:
        positions = dict.fromkeys(PARTITIONS, 0)
        for partition in PARTITIONS:
            consumer.seek(partition, 0)
        while True:
            yield True
            partition = self.chance.choice(PARTITIONS)
            if self.chance.random() < 0.05:
                positions[partition] = self.chance.randint(0, len(self.logs[partition]))
                consumer.seek(partition, positions[partition])
            yield from self.poll(consumer, partition, positions)

    def poll(
        self, consumer: ConsumerRecorder, partition: TopicPartition, positions: dict[TopicPartition, int]
    ) -> Client:
        if positions[partition] < self.starts[partition]:
            positions[partition] = self.starts[partition]
            consumer.seek(partition, positions[partition])
        records = self.read(partition, positions[partition], consumer.isolation)
        yield False
        if records:
            consumer.poll(partition, records)
            positions[partition] = records[-1][0] + 1

    def be_member(self, name: str, consumer: ConsumerRecorder) -> Client:
        generation = 0
        positions: dict[TopicPartition, int] = {}
        while True:
            yield True
            if generation != self.generation:
                consumer.assign(GROUP, generation, ())
                yield False
                generation = self.generation
                owned = self.assignment[name]
                consumer.assign(GROUP, generation, owned)
                positions = {}
                for partition in owned:
                    invoked = self.recorder.now()
                    yield False
                    offset = self.committed[partition]
                    yield False
                    self.recorder.saw_committed_offset(GROUP, partition, offset, invoked=invoked)
                    positions[partition] = offset or 0
            elif positions:
                partition = self.chance.choice(sorted(positions))
                yield from self.poll(consumer, partition, positions)
                if self.chance.random() < 0.3:
                    yield from self.commit(partition, positions[partition])

    def commit(self, partition: TopicPartition, offset: int) -> Client:
        is_deletion = self.chance.random() < 0.05
        wanted = None if is_deletion else offset
        commit = self.recorder.commit_offset(GROUP, partition, wanted)
        yield False
        fate = self.chance.random()
        if fate < 0.1:
            commit.fail()
        elif fate < 0.2:
            # It takes effect, but much later: the client went on long ago.
            self.clients.append(self.commit_late(partition, wanted))
        elif fate > 0.3:
            self.committed[partition] = wanted
            yield False
            if fate > 0.4:
                commit.ok()

    def commit_late(self, partition: TopicPartition, offset: int | None) -> Client:
        for _ in range(self.chance.randint(1, 5)):
            yield False
        self.committed[partition] = offset
        while True:
            yield True

    def watch(self) -> Client:
        while True:
            yield True
            partition, isolation = self.chance.choice(PARTITIONS), self.chance.choice(list(IsolationLevel))
            invoked = self.recorder.now()
            yield False
            offset = self.end(partition, isolation)
            yield False
            self.recorder.saw_end_offset(partition, isolation, offset, invoked=invoked)

    def rebalance(self) -> Client:
        while True:
            yield True
            if self.chance.random() < 0.2:
                self.generation += 1
                owners = {partition: self.chance.choice(["m1", "m2"]) for partition in PARTITIONS}
                self.assignment = {
                    name: tuple(partition for partition, owner in owners.items() if owner == name)
                    for name in ("m1", "m2")
                }

    def retain(self) -> Client:
        while True:
            yield True
            if self.chance.random() < 0.05:
                partition = self.chance.choice(PARTITIONS)
                end = self.end(partition, IsolationLevel.READ_COMMITTED)
                self.starts[partition] = self.chance.randint(self.starts[partition], end)


def with_final_records(history: History, partition: TopicPartition, records: list[FinalRecord]) -> History:
    """The same history with other records in one of its final logs."""
    log = history.final_logs[partition]
    end = max([log.end_offset, *(record.offset + 1 for record in records)])
    changed = replace(log, records=tuple(records), end_offset=end)
    return replace(history, final_logs={**history.final_logs, partition: changed})
