"""What a controller's decider returns: the records that make it so, and the answer for whoever asked.

The answer is given once the records are committed and the asking broker's image has reached them. All records of a
decision are written as one batch: they happen together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.protocol.schema import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    records: Sequence[Message]
    response: T
