"""What a request comes to: records to be written together, and the answer once they were read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.registry.records import Record

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    records: tuple[Record, ...]
    answer: T
