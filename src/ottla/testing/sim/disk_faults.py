"""Which operations of a simulated disk fail next: the first few, all, or a share of them.

A fault is armed and healed while the disk is in use. It repeats exactly: without a share nothing is left to chance, and
with one the caller brings the generator.
"""

import random
from dataclasses import dataclass
from enum import Enum


class DiskOperation(Enum):
    """What a disk is asked to do, as far as faults tell it apart."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"


@dataclass(slots=True)
class _Fault:
    times_left: int | None
    share: float
    chance: random.Random | None

    def strikes(self) -> bool:
        if self.times_left == 0 or (self.chance is not None and self.chance.random() >= self.share):
            return False
        if self.times_left is not None:
            self.times_left -= 1
        return True


class DiskFaults:
    """The faults of one disk."""

    def __init__(self) -> None:
        self._armed: dict[DiskOperation, _Fault] = {}

    def fail(
        self,
        operation: DiskOperation,
        *,
        times: int | None = None,
        share: float = 1.0,
        chance: random.Random | None = None,
    ) -> None:
        """Let the next `times` operations of a kind fail, all of them if None; with `chance` only a share of those."""
        if share < 1.0 and chance is None:
            raise ValueError(f"a share of {share} needs a generator that chooses")
        self._armed[operation] = _Fault(times, share, chance)

    def heal(self) -> None:
        """From now on everything succeeds."""
        self._armed.clear()

    def strikes(self, operation: DiskOperation) -> bool:
        """Whether the operation that begins now fails."""
        fault = self._armed.get(operation)
        return fault is not None and fault.strikes()
