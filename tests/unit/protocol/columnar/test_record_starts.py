"""Where records begin: whatever way they are found, it is where the lengths lead."""

import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ottla.protocol.columnar.record_starts import record_starts
from ottla.protocol.primitives import read_varint
from ottla.protocol.records import CorruptRecords, Record, encode_record

FEW, MANY = 20, 6_000
# Each case makes thousands of records.
SOME = settings(max_examples=25)


def records(count: int, chance: random.Random, value: bytes | None = None) -> list[bytes]:
    """Encoded records of very different lengths; some are so long that their length takes three bytes."""
    made = []
    for number in range(count):
        size = chance.choice((0, 3, 100, 100, 100, 500, 9_000 if number % 500 == 0 else 10))
        content = chance.randbytes(size) if value is None else value
        made.append(encode_record(Record(number, number, b"key" if number % 3 else None, content, ())))
    return made


def starts_of(batches: list[list[bytes]], gap: bytes = b"") -> None:
    """Compare what is found in batches with what they were made of."""
    data, begins, ends, expected = b"", [], [], []
    for batch in batches:
        data += gap
        begins.append(len(data))
        sizes = np.cumsum([0, *map(len, batch)])
        expected += (len(data) + sizes[:-1]).tolist()
        data += b"".join(batch)
        ends.append(len(data))
    found = record_starts(data, np.array(begins), np.array(ends), np.array([len(batch) for batch in batches]))
    assert found.tolist() == expected


def walked(payload: bytes, count: int) -> list[int] | None:
    """Step by step; None if the payload is wrong."""
    found, position = [], 0
    for _ in range(count):
        found.append(position)
        try:
            length, position = read_varint(payload, position)
        except (IndexError, ValueError):
            return None
        position += length
        if length < 6 or position > len(payload):
            return None
    return found if position == len(payload) else None


@SOME
@given(st.integers(0, 2**32))
def test_in_one_batch_from_many_places(seed: int) -> None:
    chance = random.Random(seed)
    starts_of([records(chance.choice((1, FEW, MANY)), chance)])


@SOME
@given(st.integers(0, 2**32))
def test_in_many_batches_side_by_side(seed: int) -> None:
    chance = random.Random(seed)
    counts = [chance.choice((0, 1, 1, 5, 150)) for _ in range(chance.choice((3, 100, 300)))]
    starts_of([records(count, chance) for count in [*counts, chance.choice((0, 1_000))]], gap=b"header" * 10)


def test_values_that_look_like_records_lead_nobody_astray() -> None:
    chance = random.Random(1)
    inner = b"".join(encode_record(Record(0, number, None, b"inner", ())) for number in range(30))
    starts_of([records(MANY, chance, inner)])
    starts_of([records(MANY, chance, bytes(200))])
    starts_of([records(MANY, chance, b"\x0c\x00" * 50)])


def test_a_stretch_of_tiny_records_among_large_ones() -> None:
    chance = random.Random(2)
    starts_of(
        [[*records(500, chance, bytes(3_000)), *records(20_000, chance, b""), *records(500, chance, bytes(3_000))]]
    )


@SOME
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.integers(0, 255))
@example(0, 1, 1)
def test_a_changed_byte_is_refused_exactly_if_the_lengths_lead_elsewhere(seed: int, where: int, byte: int) -> None:
    chance = random.Random(seed)
    count = MANY
    payload = bytearray(b"".join(records(count, chance)))
    payload[where % len(payload)] = byte
    expected = walked(bytes(payload), count)
    one = (np.array([0]), np.array([len(payload)]), np.array([count]))
    if expected is None:
        with pytest.raises(CorruptRecords):
            record_starts(payload, *one)
    else:
        assert record_starts(payload, *one).tolist() == expected


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_wrong_number_of_records_is_refused(count: int) -> None:
    made = records(count, random.Random(3))
    payload = b"".join(made)
    for claimed in (count - 1, count + 1, 0, -1, 2**31 - 1):
        with pytest.raises(CorruptRecords):
            record_starts(payload, np.array([0]), np.array([len(payload)]), np.array([claimed]))


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_batch_that_ends_early_is_refused(count: int) -> None:
    payload = b"".join(records(count, random.Random(4)))
    for end in (1, 2, len(payload) // 2, len(payload) - 1):
        with pytest.raises(CorruptRecords):
            record_starts(payload, np.array([0]), np.array([end]), np.array([count]))


def test_a_record_may_not_reach_into_the_next_batch() -> None:
    made = records(200, random.Random(5), b"value")
    payload = b"".join(made)
    cut = len(b"".join(made[:100])) + 3
    begins, ends = np.array([0, cut]), np.array([cut, len(payload)])
    with pytest.raises(CorruptRecords):
        record_starts(payload, begins, ends, np.array([101, 99]))
