"""Numbers of a whole column, read and written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.columnar.varints import as_varints, joined_varints, read_varints, read_varlongs
from ottla.protocol.primitives import read_varint, read_varlong, write_varint
from ottla.protocol.records import CorruptRecords

# Each length of a varint is as likely as another.
numbers_64 = st.integers(1, 63).flatmap(lambda bits: st.integers(-(2**bits), 2**bits - 1))
numbers_32 = st.integers(1, 31).flatmap(lambda bits: st.integers(-(2**bits), 2**bits - 1))


@given(st.lists(numbers_64, min_size=1))
def test_long_numbers_are_read_where_they_are(numbers: list[int]) -> None:
    parts = [write_varint(number) for number in numbers]
    ends = np.cumsum([len(part) for part in parts])
    data = np.frombuffer(b"".join(parts), np.uint8)
    values, after = read_varlongs(data, np.append(0, ends[:-1]))
    assert (values.tolist(), after.tolist()) == (numbers, ends.tolist())


@given(st.binary(min_size=1, max_size=12))
def test_noise_is_what_the_reader_of_single_numbers_makes_of_it(noise: bytes) -> None:
    at_beginning = np.zeros(1, np.int64)
    data = np.frombuffer(noise, np.uint8)
    for read_one, read_column in ((read_varint, read_varints), (read_varlong, read_varlongs)):
        try:
            number, after = read_one(noise, 0)
        except (IndexError, ValueError):
            with pytest.raises(CorruptRecords):
                read_column(data, at_beginning)
        else:
            values, positions = read_column(data, at_beginning)
            # What does not fit into 64 bits is cut off.
            assert (int(values[0]) - number) % 2**64 == 0
            assert positions.tolist() == [after]


def test_a_position_behind_the_data_is_refused() -> None:
    with pytest.raises(CorruptRecords, match="cut off"):
        read_varints(np.zeros(3, np.uint8), np.array([3]))


@given(st.lists(st.tuples(numbers_64, numbers_32), min_size=1))
def test_numbers_are_written_as_single_ones_are(rows: list[tuple[int, int]]) -> None:
    first, second = (as_varints(np.array(column)) for column in zip(*rows, strict=True))
    data, sizes = joined_varints([first, 7, second])
    expected = [write_varint(one) + b"\x07" + write_varint(two) for one, two in rows]
    assert data.tobytes() == b"".join(expected)
    assert sizes.tolist() == [len(row) for row in expected]
