"""What a write operation of a coordinator returns."""

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
