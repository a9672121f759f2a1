import random
from collections.abc import Sequence

import numpy as np
import pytest

from ottla.storage.cleaning.offset_map import ENTRY_BYTES, OffsetMap
from unit.storage.cleaning.hashes import hashes_of


def room(keys: int) -> OffsetMap:
    return OffsetMap(ENTRY_BYTES * (keys + 1), 1.0)


def put(offsets: OffsetMap, records: Sequence[tuple[bytes, int]]) -> bool:
    return offsets.put(hashes_of([key for key, _ in records]), np.array([offset for _, offset in records], np.int64))


def latest_of(offsets: OffsetMap, keys: list[bytes]) -> list[int]:
    found: list[int] = offsets.latest_of(hashes_of(keys)).tolist()
    return found


def test_the_latest_offset_of_each_key_is_found() -> None:
    offsets = room(100)
    assert put(offsets, [(b"a", 1), (b"b", 2), (b"a", 3), (b"", 4)])
    assert latest_of(offsets, [b"a", b"b", b"", b"unknown"]) == [3, 2, 4, -1]
    assert (offsets.size, offsets.latest_offset) == (3, 4)


@pytest.mark.parametrize("at_once", [1, 7, 5000])
def test_it_agrees_with_a_dictionary_when_nearly_full(at_once: int) -> None:
    offsets = room(996)
    chance = random.Random(7)
    records = [(b"%d" % chance.randrange(996), offset) for offset in range(5000)]
    for begin in range(0, 5000, at_once):
        assert put(offsets, records[begin : begin + at_once])
    expected = dict(records)
    asked = [b"%d" % number for number in range(1100)]
    assert latest_of(offsets, asked) == [expected.get(key, -1) for key in asked]
    assert offsets.size == len(expected)


def test_a_new_key_without_room_ends_it_and_known_keys_go_on() -> None:
    offsets = room(4)
    assert offsets.capacity == 4
    repeated = [b"0", b"1", b"0", b"2", b"3", b"1", b"4", b"0"]
    assert not put(offsets, [(key, 2 * number) for number, key in enumerate(repeated)])
    # Everything before the key that found no room was looked at.
    assert (offsets.size, offsets.latest_offset) == (4, 11)
    assert latest_of(offsets, [b"0", b"1", b"2", b"3", b"4"]) == [4, 10, 6, 8, -1]
    assert put(offsets, [(b"0", 20), (b"3", 21)])
    assert latest_of(offsets, [b"0", b"3", b"4"]) == [20, 21, -1]


def test_nothing_is_noted_without_keys() -> None:
    offsets = room(4)
    assert put(offsets, [])
    assert (offsets.size, offsets.latest_offset) == (0, -1)


@pytest.mark.parametrize("memory_bytes", [0, 24, 100, 24 * 1000, 24 * 4099])
def test_it_stays_within_its_memory_and_load(memory_bytes: int) -> None:
    offsets = OffsetMap(memory_bytes, 0.75)
    assert not put(offsets, [(b"%d" % number, number) for number in range(5000)])
    assert offsets.size == offsets.capacity
    assert offsets.capacity <= max(1, 0.75 * max(memory_bytes, 72) / ENTRY_BYTES)
    assert offsets.utilization <= 0.75
