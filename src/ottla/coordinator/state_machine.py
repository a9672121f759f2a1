"""What every coordinator shard gives to its log, and what it refuses to take from it.

A shard is a replicated state machine. A write operation returns records and a response: the state changes through the
records, and the response goes out once they are committed. Loading a shard replays the records of its partition; one
that the shard does not know is an `UnknownRecord`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

RecordT = TypeVar("RecordT")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class CoordinatorResult(Generic[RecordT, ResponseT]):
    """Records to append to the shard's partition, and the response to give once they are committed."""

    records: Sequence[RecordT]
    response: ResponseT


class UnknownRecord(ValueError):
    """A record of a kind, or of a version, that this release does not know."""
