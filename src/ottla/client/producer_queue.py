"""The batches that a producer sends to one partition: in order, and each once.

Pure: time comes as an argument, and `sender.py` does what this decides.

A batch is filled, sealed (when it is full, or has waited long enough), sent, and settled. With idempotence it gets a
sequence when it is first sent. The broker takes a producer's batches only in sequence and recognises the last five, so
a batch whose answer was lost may simply be sent again. Invariants:

- Batches leave in order. Up to five may be under way at a time, but a batch that is tried again travels alone, so that
  nothing overtakes it. So does the first of each epoch: a broker that knows nothing of a producer takes any sequence
  for its first, and a batch could overtake one that was refused.
- A batch that fails for good leaves a gap in the sequence. The queue then continues in the next producer epoch from
  sequence 0 (KIP-360), once nothing of the old epoch is under way. Batches after one that the broker refused cannot
  have been written, and continue in the new epoch. Batches after one whose outcome is unknown have an unknown outcome
  too, and fail with it: sent again, they could be written twice.
- In a transaction, a batch that fails for good fails the transaction, and nothing more of it is sent. The epochs are
  the transaction's, and each begins with `restart`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.client.errors import ClientError, KafkaError
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import MAX_SEQUENCE
from ottla.protocol.topic_partition import TopicPartition

IN_FLIGHT_MAX = 5

# The broker says that a batch does not continue what it knows of this producer.
_SEQUENCE_LOST = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch; -1 where the broker did not tell (acks=0, or a duplicate it no longer remembers)."""

    base_offset: int = -1
    log_append_time_ms: int = -1
    error: ClientError | None = None


class ProducerBatch:
    """Records that travel together."""

    __slots__ = (
        "attempts",
        "builder",
        "created_s",
        "error",
        "failing_since_s",
        "follows_gap",
        "is_sealed",
        "number",
        "partition",
        "retry_at_s",
        "sequence",
        "settle",
    )

    def __init__(
        self, partition: TopicPartition, builder: BatchBuilder, created_s: float, settle: Callable[[Outcome], None]
    ) -> None:
        self.partition = partition
        self.builder = builder
        self.created_s = created_s
        self.settle = settle
        self.is_sealed = False
        self.follows_gap = False
        self.number = -1
        self.sequence = -1
        self.attempts = 0
        self.retry_at_s = 0.0
        self.failing_since_s = created_s
        self.error: ClientError | None = None


B = TypeVar("B", bound=ProducerBatch)


class PartitionQueue(Generic[B]):
    """See the module."""

    def __init__(self, partition: TopicPartition, *, is_idempotent: bool, linger_s: float) -> None:
        self.partition = partition
        self.waiting: deque[B] = deque()
        self.in_flight: list[B] = []
        self.epoch_bumps = 0
        self._is_idempotent = is_idempotent
        self._linger_s = linger_s
        self._added = 0
        self._next_sequence = 0
        self._next_acknowledged = 0
        self._is_known_to_broker = False

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.in_flight

    def open_batch(self) -> B | None:
        """The batch that still takes records."""
        if self.waiting and not self.waiting[-1].is_sealed:
            return self.waiting[-1]
        return None

    def add(self, batch: B) -> None:
        """Add a new batch at the end; the one before it takes no more records."""
        if self.waiting:
            self.waiting[-1].is_sealed = True
        batch.number = self._added
        self._added += 1
        self.waiting.append(batch)

    def ready_at_s(self) -> float | None:
        """When the next batch may be sent; None if that depends on an answer, or there is none."""
        if not self.waiting or not self._has_room(self.waiting[0]):
            return None
        head = self.waiting[0]
        if head.attempts:
            return head.retry_at_s
        return 0.0 if head.is_sealed else head.created_s + self._linger_s

    def take(self, now_s: float) -> B | None:
        """Take the next batch to send; it is under way from now on."""
        ready_at_s = self.ready_at_s()
        if ready_at_s is None or ready_at_s > now_s:
            return None
        batch = self.waiting.popleft()
        batch.is_sealed = True
        if batch.error is None:
            # If this attempt fails, the failure dates from now: a broker may be silent for long.
            batch.failing_since_s = now_s
        if batch.sequence < 0 and self._is_idempotent:
            batch.sequence = self._next_sequence
            self._next_sequence = _advance(self._next_sequence, batch.builder.count)
        self.in_flight.append(batch)
        return batch

    def acknowledged(self, batch: B, outcome: Outcome) -> None:
        """The broker has acknowledged it."""
        self.in_flight.remove(batch)
        if batch.sequence >= 0 and not batch.follows_gap:
            self._next_acknowledged = _advance(batch.sequence, batch.builder.count)
            self._is_known_to_broker = True
        batch.settle(outcome)

    def failed(self, batch: B, error: ClientError, now_s: float, retry_delay_s: float) -> bool:
        """The broker refused it, or its outcome is unknown: retry it or give it up; returns whether it is retried."""
        self.in_flight.remove(batch)
        if error.is_retriable or self._follows_a_failure(batch, error):
            if batch.follows_gap:
                batch.follows_gap, batch.sequence = False, -1
            batch.error = error
            batch.attempts += 1
            batch.retry_at_s = now_s + retry_delay_s
            self._put_back(batch)
            return True
        batch.settle(Outcome(error=error))
        if batch.sequence >= 0:
            self._start_next_epoch()
        return False

    def expire(self, now_s: float, delivery_timeout_s: float, explain: Callable[[B], ClientError]) -> None:
        """Give up batches that are too old; one that was sent already first waits for those sent after it."""
        has_unknown = False
        while self.waiting and now_s >= self.waiting[0].created_s + delivery_timeout_s:
            if self.waiting[0].sequence >= 0 and self.in_flight:
                return
            batch = self.waiting.popleft()
            has_unknown |= batch.sequence >= 0
            batch.settle(Outcome(error=explain(batch)))
        if has_unknown:
            while self.waiting and self.waiting[0].sequence >= 0:
                batch = self.waiting.popleft()
                batch.settle(Outcome(error=explain(batch)))
            self._start_next_epoch()

    def gave_up(self, batch: B, error: ClientError) -> None:
        """Settle a batch that is not retried because its transaction is over."""
        self.in_flight.remove(batch)
        batch.settle(Outcome(error=error))

    def fail_waiting(self, error: ClientError) -> None:
        """Nothing more is sent of the transaction; what is under way will come back."""
        for batch in self.waiting:
            batch.settle(Outcome(error=error))
        self.waiting.clear()

    def restart(self) -> None:
        """The producer has a new epoch, between two transactions: sequences begin again."""
        assert self.is_empty, self.partition
        self._next_sequence = self._next_acknowledged = 0
        self._is_known_to_broker = False

    def fail_all(self, error: ClientError) -> None:
        """The producer ends."""
        for batch in (*self.in_flight, *self.waiting):
            batch.settle(Outcome(error=error))
        self.in_flight.clear()
        self.waiting.clear()

    def _has_room(self, head: B) -> bool:
        is_first = self._is_idempotent and not self._is_known_to_broker
        if is_first or head.attempts or any(batch.attempts or batch.follows_gap for batch in self.in_flight):
            return not self.in_flight
        return len(self.in_flight) < IN_FLIGHT_MAX

    def _follows_a_failure(self, batch: B, error: ClientError) -> bool:
        """Whether the broker refused a batch only because one before it has not arrived."""
        is_lost = isinstance(error, KafkaError) and error.code in _SEQUENCE_LOST
        return is_lost and batch.sequence >= 0 and (batch.follows_gap or batch.sequence != self._next_acknowledged)

    def _put_back(self, batch: B) -> None:
        """Put a batch back before everything that follows it."""
        position = 0
        while position < len(self.waiting) and self.waiting[position].number < batch.number:
            position += 1
        self.waiting.insert(position, batch)

    def _start_next_epoch(self) -> None:
        """After a gap: what follows it gets new sequences when it is sent again.

        Batches still under way belong to the old epoch, and will come back as refused.
        """
        self.epoch_bumps += 1
        self._next_sequence = self._next_acknowledged = 0
        self._is_known_to_broker = False
        for batch in self.in_flight:
            batch.follows_gap = True
        for batch in self.waiting:
            batch.sequence = -1


def _advance(sequence: int, count: int) -> int:
    return (sequence + count) & MAX_SEQUENCE
