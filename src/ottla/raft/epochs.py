"""Positions in the replicated log, and where each leader epoch begins there.

Invariant: epochs grow from entry to entry, start offsets never fall. Two start offsets are equal only where a snapshot
replaced all records of the earlier epoch. Log reconciliation rests on this list (KIP-101, KIP-279): it tells how far
the log agrees with a replica that last saw epoch E.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OffsetAndEpoch:
    """An end offset together with the epoch of the last record before it; also the identity of a snapshot."""

    offset: int
    epoch: int

    def is_at_least_as_new_as(self, other: OffsetAndEpoch) -> bool:
        """Raft compares logs by epoch first, then by offset."""
        return (self.epoch, self.offset) >= (other.epoch, other.offset)


class EpochHistory:
    """The epochs of a log in order, each with the offset of its first record."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self._epochs, self._starts, strict=True))

    @property
    def last_epoch(self) -> int | None:
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that a record of `epoch` was written at `start_offset`; a no-op while the epoch goes on."""
        if self._epochs and epoch == self._epochs[-1]:
            return
        if self._epochs and (epoch < self._epochs[-1] or start_offset < self._starts[-1]):
            raise ValueError(f"epoch {epoch} at offset {start_offset} does not follow {self.entries[-1]}")
        self._epochs.append(epoch)
        self._starts.append(start_offset)

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """The largest known epoch not above `epoch` and the offset at which it ends, or None below the first."""
        index = bisect_right(self._epochs, epoch) - 1
        if index < 0:
            return None
        end = self._starts[index + 1] if index + 1 < len(self._starts) else log_end_offset
        return self._epochs[index], end

    def epoch_at(self, offset: int) -> int | None:
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else None

    def truncate_to(self, end_offset: int) -> None:
        while self._starts and self._starts[-1] >= end_offset:
            self._starts.pop()
            self._epochs.pop()

    def drop_before(self, start_offset: int) -> None:
        """Forget epochs that ended at or before the new log start; the one that spans it now begins there."""
        keep = bisect_right(self._starts, start_offset) - 1
        if keep > 0:
            del self._starts[:keep]
            del self._epochs[:keep]
        if self._starts and self._starts[0] < start_offset:
            self._starts[0] = start_offset
