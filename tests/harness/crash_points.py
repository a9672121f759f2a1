"""Telling a story on simulated disks and cutting the power after every single change that it makes to them.

A story runs once. After each change of a disk the moment is kept: the disks, with what is not synced, and what had been
promised to clients by then. Afterwards each moment is turned into several states in which the disks might be found, and
each of those is opened and held against the promise. Sometimes the power fails again while it is being opened.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ottla.testing.sim.disk import PowerCut, SimulatedDisk, Survival

Promise = TypeVar("Promise")

TORN_STATES = 4
# Of the states, so many are struck again while they are recovered.
SECOND_CUT_SHARE = 0.25
SECOND_CUT_CHANGES_MAX = 30


@dataclass(frozen=True)
class Moment(Generic[Promise]):
    change: str
    disks: tuple[SimulatedDisk, ...]
    promise: Promise


@dataclass(frozen=True)
class CrashState(Generic[Promise]):
    """Disks as they are found, and what they must hold."""

    name: str
    disks: tuple[SimulatedDisk, ...]
    promise: Promise
    # Nothing was lost: only the process ended.
    is_kill: bool


class Recorder(Generic[Promise]):
    """Keeps the moments of a story; `promise` is replaced by the story as it goes on."""

    def __init__(self, roots: Sequence[Path], promise: Promise) -> None:
        self.promise = promise
        self.moments: list[Moment[Promise]] = []
        self.disks = tuple(SimulatedDisk(root, self._keep) for root in roots)

    def _keep(self, operation: str, path: Path) -> None:
        clones = tuple(disk.clone() for disk in self.disks)
        self.moments.append(Moment(f"{len(self.moments)}: {operation} {path}", clones, self.promise))


def crash_states(
    moments: Sequence[Moment[Promise]], open_disks: Callable[[tuple[SimulatedDisk, ...]], object]
) -> Iterator[CrashState[Promise]]:
    """Every state to check. `open_disks` is what a start does; some states come out of one that was cut short."""
    for number, moment in enumerate(moments):
        survivals = [Survival.EVERYTHING, Survival.NOTHING, Survival.NAMES, Survival.DATA]
        for case, survival in enumerate(survivals + [Survival.TORN] * TORN_STATES):
            chance = random.Random(number * 100 + case)
            disks = tuple(disk.after_power_cut(survival, chance) for disk in moment.disks)
            name = f"{moment.change}, {survival.name} survives ({case})"
            if chance.random() < SECOND_CUT_SHARE:
                disks = _struck_again(disks, open_disks, survival, chance)
                name += ", and a second cut"
            yield CrashState(name, disks, moment.promise, survival is Survival.EVERYTHING)


def _struck_again(
    disks: tuple[SimulatedDisk, ...],
    open_disks: Callable[[tuple[SimulatedDisk, ...]], object],
    survival: Survival,
    chance: random.Random,
) -> tuple[SimulatedDisk, ...]:
    left = chance.randint(1, SECOND_CUT_CHANGES_MAX)

    def count(operation: str, path: Path) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise PowerCut(f"{operation} {path}")

    for disk in disks:
        disk.on_change = count
    with suppress(PowerCut):
        open_disks(disks)
    return tuple(disk.after_power_cut(survival, chance) for disk in disks)
