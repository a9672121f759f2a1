"""What a decider of the controller returns: the records that carry out the decision, and the answer to the request.

The answer is given once the records are committed and the asking broker's image has reached them.

What somebody asked for (topics, partitions, settings, features, a producer id block) is atomic: its records are one
batch, and happen together or not at all. One that is larger than a batch may be is refused, and the client is told to
split it. What follows from the state of brokers and replicas (registration, fencing, shutdown, in-sync sets,
directories, elections) may be more than a batch should hold, and is not atomic: its records are in an order in which
any first part of them leaves a state that a later decision completes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ottla.protocol.schema import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """Records to append, and the response to give once they are committed."""

    records: Sequence[Message]
    response: T
    is_atomic: bool = True
