"""The operations of clients, as a history holds them.

Times are whole numbers of one clock that never goes back: simulated time, or the number of the event. An operation came
before another if it ended at an earlier time than the other was invoked; all else was concurrent.

An operation ends in one of three ways. OK: it took effect. FAIL: it surely did not, and never will. INFO: nobody knows,
and it may still take effect at any later time.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition


class Outcome(Enum):
    """What a client was told of its operation."""

    OK = "ok"
    FAIL = "failed"
    INFO = "unknown"


class TransactionResult(Enum):
    """What a producer was told of its transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class ProducerKind(Enum):
    """What a producer was promised."""

    TRANSACTIONAL = "transactional"
    IDEMPOTENT = "idempotent"
    # Without idempotence a retry may write a value twice, and behind later ones.
    ACKS_ALL = "acks=all"
    ACKS_1 = "acks=1"

    @property
    def is_idempotent(self) -> bool:
        return self in (ProducerKind.TRANSACTIONAL, ProducerKind.IDEMPOTENT)


class Value(NamedTuple):
    """The value of one record, sent once in a history: the producer's name, and a number that grows with each send."""

    producer: str
    number: int

    def __str__(self) -> str:
        return f"{self.producer}:{self.number}"

    def encode(self) -> bytes:
        return str(self).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> "Value":
        """Bytes that no producer could have written become a value that nobody sent."""
        producer, _, number = (data or b"").decode(errors="backslashreplace").rpartition(":")
        if producer and number.isascii() and number.isdigit():
            return cls(producer, int(number))
        return cls(repr(data), -1)


@dataclass(frozen=True, slots=True)
class Send:
    """A producer sends one record; `offset` is known only if it was told."""

    value: Value
    partition: TopicPartition
    invoked: int
    ended: int | None
    outcome: Outcome
    offset: int | None
    # The number of the producer's transaction.
    transaction: int | None

    def __str__(self) -> str:
        told = f"{self.outcome.value} at {self.ended}" if self.ended is not None else "never answered"
        where = "" if self.offset is None else f" with offset {self.offset}"
        return f"the send of {self.value} to {self.partition} (invoked at {self.invoked}, {told}{where})"


@dataclass(frozen=True, slots=True)
class Transaction:
    """A producer's transaction; `commit_invoked` is None if its end was never asked for, or was to be an abort."""

    producer: str
    number: int
    commit_invoked: int | None
    ended: int | None
    result: TransactionResult

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.producer} ({self.result.value}, ended at {self.ended})"


class PolledRecord(NamedTuple):
    """A record as a consumer got it."""

    offset: int
    value: Value


@dataclass(frozen=True, slots=True)
class Poll:
    """A consumer gets records of one partition, in this order."""

    partition: TopicPartition
    at: int
    records: tuple[PolledRecord, ...]


@dataclass(frozen=True, slots=True)
class Seek:
    """A consumer changes its position, to where an offset out of range was reset too; None if that is not known."""

    partition: TopicPartition
    at: int
    offset: int | None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A member of a group owns these partitions from now on, all others no more.

    A partition that it did not own before is read from where the group left it; the member goes on with all others. So
    a member that gives everything up in a rebalance is assigned nothing first.
    """

    group: str
    generation: int
    at: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class EndOffset:
    """A client learns where a partition ends: the high watermark, or the last stable offset if it reads committed."""

    partition: TopicPartition
    isolation: IsolationLevel
    invoked: int
    ended: int
    offset: int


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """A group's position is committed; None if it is deleted.

    One that is part of a transaction ends when the transaction ends, and as that does.
    """

    group: str
    partition: TopicPartition
    offset: int | None
    invoked: int
    ended: int | None
    outcome: Outcome

    def __str__(self) -> str:
        told = f"{self.outcome.value} at {self.ended}" if self.ended is not None else "never answered"
        return f"the commit of offset {self.offset} (invoked at {self.invoked}, {told})"


@dataclass(frozen=True, slots=True)
class OffsetFetch:
    """A client asks for a group's committed position and gets it; None if there is none."""

    group: str
    partition: TopicPartition
    offset: int | None
    invoked: int
    ended: int
