import random

import pytest

from ottla.storage.cleaning.offset_map import ENTRY_BYTES, OffsetMap


def room(keys: int) -> OffsetMap:
    return OffsetMap(ENTRY_BYTES * (keys + 1), 1.0)


def test_the_latest_offset_of_each_key_is_found() -> None:
    offsets = room(100)
    assert offsets.put_all([(b"a", 1), (b"b", 2), (b"a", 3), (b"", 4)])
    assert offsets.latest_of([b"a", b"b", b"", b"unknown"]) == [3, 2, 4, -1]
    assert (offsets.size, offsets.latest_offset) == (3, 4)


def test_it_agrees_with_a_dictionary_when_nearly_full() -> None:
    offsets = room(996)
    chance = random.Random(7)
    records = [(b"%d" % chance.randrange(996), offset) for offset in range(5000)]
    assert offsets.put_all(records)
    expected = dict(records)
    asked = [b"%d" % number for number in range(1100)]
    assert offsets.latest_of(asked) == [expected.get(key, -1) for key in asked]
    assert offsets.size == len(expected)


def test_a_new_key_without_room_ends_it_and_known_keys_go_on() -> None:
    offsets = room(4)
    assert offsets.capacity == 4
    assert not offsets.put_all([(b"%d" % number, number) for number in range(9)])
    assert (offsets.size, offsets.latest_offset) == (4, 3)
    assert offsets.put_all([(b"0", 10), (b"3", 11)])
    assert offsets.latest_of([b"0", b"3", b"4"]) == [10, 11, -1]


@pytest.mark.parametrize("memory_bytes", [0, 24, 100, 24 * 1000, 24 * 4099])
def test_it_stays_within_its_memory_and_load(memory_bytes: int) -> None:
    offsets = OffsetMap(memory_bytes, 0.75)
    assert not offsets.put_all([(b"%d" % number, number) for number in range(5000)])
    assert offsets.size == offsets.capacity
    assert offsets.capacity <= max(1, 0.75 * max(memory_bytes, 72) / ENTRY_BYTES)
    assert offsets.utilization <= 0.75
