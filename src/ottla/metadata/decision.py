"""What a decider of the controller returns: the records that carry out the decision, and the answer to the request.

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
    """Records to append as one batch, and the response to give once they are committed."""

    records: Sequence[Message]
    response: T
