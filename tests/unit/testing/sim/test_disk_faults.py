"""Faults strike as often as they were told to, and again in the same way."""

import random

import pytest

from ottla.testing.sim.disk_faults import DiskFaults, DiskOperation


def strikes(faults: DiskFaults, operation: DiskOperation, count: int) -> list[bool]:
    return [faults.strikes(operation) for _ in range(count)]


def test_without_a_fault_nothing_fails() -> None:
    assert not any(DiskFaults().strikes(operation) for operation in DiskOperation)


def test_the_next_operations_of_one_kind_fail_and_no_more() -> None:
    faults = DiskFaults()
    faults.fail(DiskOperation.WRITE, times=2)
    assert strikes(faults, DiskOperation.SYNC, 2) == [False, False]
    assert strikes(faults, DiskOperation.WRITE, 3) == [True, True, False]


def test_all_operations_fail_until_the_disk_is_healed() -> None:
    faults = DiskFaults()
    faults.fail(DiskOperation.SYNC)
    assert strikes(faults, DiskOperation.SYNC, 50) == [True] * 50
    faults.heal()
    assert strikes(faults, DiskOperation.SYNC, 2) == [False, False]


def test_the_same_seed_strikes_the_same_share() -> None:
    found = []
    for _ in range(2):
        faults = DiskFaults()
        faults.fail(DiskOperation.READ, share=0.3, chance=random.Random(7))
        found.append(strikes(faults, DiskOperation.READ, 100))
    assert found[0] == found[1]
    assert 10 < sum(found[0]) < 60


def test_a_share_without_a_generator_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.5"):
        DiskFaults().fail(DiskOperation.READ, share=0.5)
