"""Clients write down what they do: an operation when it is invoked, and once more when it ended.

What was invoked and never ended counts as unknown, so a client that dies has nothing to do. Each client's calls come in
its own order; clients may run in threads of their own.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.final_log import FinalCopy, FinalLog, Promise
from ottla.testing.history.history import ConsumerHistory, History
from ottla.testing.history.operations import (
    Assignment,
    EndOffset,
    OffsetCommit,
    OffsetFetch,
    Outcome,
    Poll,
    PolledRecord,
    ProducerKind,
    Seek,
    Send,
    Transaction,
    TransactionResult,
    Value,
)


class PendingSend:
    """A record that was sent and may be acknowledged."""

    __slots__ = ("_now", "ended", "invoked", "offset", "outcome", "partition", "transaction", "value")

    def __init__(
        self, now: Callable[[], int], value: Value, partition: TopicPartition, transaction: int | None
    ) -> None:
        self.value = value
        self.partition = partition
        self.transaction = transaction
        self.invoked = now()
        self.ended: int | None = None
        self.outcome = Outcome.INFO
        self.offset: int | None = None
        self._now = now

    def ok(self, offset: int | None) -> None:
        """It was acknowledged; with acks=1 and acks=all the offset is known."""
        self.offset = offset
        self._end(Outcome.OK)

    def fail(self) -> None:
        """It surely was not written, and never will be."""
        self._end(Outcome.FAIL)

    def _end(self, outcome: Outcome) -> None:
        self.ended = self._now()
        self.outcome = outcome

    def to_operation(self) -> Send:
        return Send(self.value, self.partition, self.invoked, self.ended, self.outcome, self.offset, self.transaction)


class PendingTransaction:
    """A transaction that was begun and may end."""

    __slots__ = ("_now", "commit_invoked", "ended", "number", "producer", "result")

    def __init__(self, now: Callable[[], int], producer: str, number: int) -> None:
        self.producer = producer
        self.number = number
        self.commit_invoked: int | None = None
        self.ended: int | None = None
        self.result = TransactionResult.UNKNOWN
        self._now = now

    def invoke_commit(self) -> None:
        """The producer asks for the commit; an abort needs no word before it has ended."""
        self.commit_invoked = self._now()

    def end(self, result: TransactionResult) -> None:
        """What the producer was told."""
        self.ended = self._now()
        self.result = result

    def to_operation(self) -> Transaction:
        return Transaction(self.producer, self.number, self.commit_invoked, self.ended, self.result)


class PendingOffsetCommit:
    """A commit of a group's position that may be acknowledged."""

    __slots__ = ("_now", "ended", "group", "invoked", "offset", "outcome", "partition")

    def __init__(self, now: Callable[[], int], group: str, partition: TopicPartition, offset: int | None) -> None:
        self.group = group
        self.partition = partition
        self.offset = offset
        self.invoked = now()
        self.ended: int | None = None
        self.outcome = Outcome.INFO
        self._now = now

    def ok(self) -> None:
        self._end(Outcome.OK)

    def fail(self) -> None:
        """It surely was not committed, and never will be."""
        self._end(Outcome.FAIL)

    def _end(self, outcome: Outcome) -> None:
        self.ended = self._now()
        self.outcome = outcome

    def to_operation(self) -> OffsetCommit:
        return OffsetCommit(self.group, self.partition, self.offset, self.invoked, self.ended, self.outcome)


class ProducerRecorder:
    """What one producer does. Its name lasts over restarts, and its numbers go on."""

    def __init__(self, now: Callable[[], int], name: str) -> None:
        self.name = name
        self.sends: list[PendingSend] = []
        self.transactions: list[PendingTransaction] = []
        self._now = now

    def begin(self) -> PendingTransaction:
        """A transaction, to which what is sent from now on belongs."""
        transaction = PendingTransaction(self._now, self.name, len(self.transactions))
        self.transactions.append(transaction)
        return transaction

    def send(self, partition: TopicPartition) -> PendingSend:
        """A record; its value is made here."""
        transaction = self.transactions[-1].number if self.transactions else None
        send = PendingSend(self._now, Value(self.name, len(self.sends)), partition, transaction)
        self.sends.append(send)
        return send


class ConsumerRecorder:
    """What one consumer does and sees."""

    def __init__(self, now: Callable[[], int], isolation: IsolationLevel) -> None:
        self.isolation = isolation
        self.events: list[Poll | Seek | Assignment] = []
        self._now = now

    def poll(self, partition: TopicPartition, records: Iterable[tuple[int, Value]]) -> None:
        """Records of one partition, in the order in which they came."""
        self.events.append(Poll(partition, self._now(), tuple(itertools.starmap(PolledRecord, records))))

    def seek(self, partition: TopicPartition, offset: int | None) -> None:
        self.events.append(Seek(partition, self._now(), offset))

    def assign(self, group: str, generation: int, partitions: Iterable[TopicPartition]) -> None:
        """All partitions that the consumer owns from now on, as a member of a group."""
        self.events.append(Assignment(group, generation, self._now(), tuple(partitions)))


class Recorder:
    """What all clients of one run do."""

    def __init__(self, now: Callable[[], int] | None = None) -> None:
        """`now` is a clock that never goes back; without one, events are numbered."""
        self.now = now if now is not None else itertools.count(1).__next__
        self._producers: dict[str, tuple[ProducerKind, ProducerRecorder]] = {}
        self._consumers: dict[str, ConsumerRecorder] = {}
        self._end_offsets: list[EndOffset] = []
        self._offset_commits: list[PendingOffsetCommit] = []
        self._offset_fetches: list[OffsetFetch] = []
        self._stale_spans: list[tuple[int, int]] = []

    def producer(self, name: str, kind: ProducerKind) -> ProducerRecorder:
        """A new producer; names are unique."""
        assert name not in self._producers, f"there is a producer {name} already"
        recorder = ProducerRecorder(self.now, name)
        self._producers[name] = (kind, recorder)
        return recorder

    def consumer(self, name: str, isolation: IsolationLevel) -> ConsumerRecorder:
        """A new consumer; names are unique."""
        assert name not in self._consumers, f"there is a consumer {name} already"
        recorder = self._consumers[name] = ConsumerRecorder(self.now, isolation)
        return recorder

    def saw_end_offset(
        self, partition: TopicPartition, isolation: IsolationLevel, offset: int, *, invoked: int
    ) -> None:
        """A client that asked at `invoked` was told where a partition ends."""
        self._end_offsets.append(EndOffset(partition, isolation, invoked, self.now(), offset))

    def commit_offset(self, group: str, partition: TopicPartition, offset: int | None) -> PendingOffsetCommit:
        """A group's position is to be committed, or deleted if None."""
        commit = PendingOffsetCommit(self.now, group, partition, offset)
        self._offset_commits.append(commit)
        return commit

    def saw_committed_offset(self, group: str, partition: TopicPartition, offset: int | None, *, invoked: int) -> None:
        """A client that asked at `invoked` was told a group's position."""
        self._offset_fetches.append(OffsetFetch(group, partition, offset, invoked, self.now()))

    @contextmanager
    def stale_answers(self) -> Iterator[None]:
        """For as long as it lasts, a former leader may not know that it was replaced."""
        begun = self.now()
        try:
            yield
        finally:
            self._stale_spans.append((begun, self.now()))

    def history(
        self,
        final_logs: Iterable[FinalLog],
        promises: Mapping[TopicPartition, Promise] | None = None,
        *,
        copies: Iterable[FinalCopy] = (),
        keeps_coordinator_state: bool = True,
    ) -> History:
        """All that was recorded, with what was found at the end."""
        recorders = [recorder for _, recorder in self._producers.values()]
        return History(
            producers={name: kind for name, (kind, _) in self._producers.items()},
            sends=[send.to_operation() for recorder in recorders for send in recorder.sends],
            transactions=[one.to_operation() for recorder in recorders for one in recorder.transactions],
            consumers={
                name: ConsumerHistory(recorder.isolation, tuple(recorder.events))
                for name, recorder in self._consumers.items()
            },
            end_offsets=tuple(self._end_offsets),
            offset_commits=[commit.to_operation() for commit in self._offset_commits],
            offset_fetches=tuple(self._offset_fetches),
            final_logs={log.partition: log for log in final_logs},
            copies=tuple(copies),
            promises=promises or {},
            keeps_coordinator_state=keeps_coordinator_state,
            stale_spans=tuple(self._stale_spans),
        )
