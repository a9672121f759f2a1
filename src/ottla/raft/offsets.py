"""A position in the replicated log, ordered as Raft compares logs: by epoch first, then by offset."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OffsetAndEpoch:
    """An end offset together with the epoch of the last record before it; also the identity of a snapshot."""

    offset: int
    epoch: int

    def is_at_least_as_new_as(self, other: OffsetAndEpoch) -> bool:
        return (self.epoch, self.offset) >= (other.epoch, other.offset)
