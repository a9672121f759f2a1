"""Batches that a fetch brings."""

import pytest

from ottla.client.fetch_request import whole_batches
from ottla.client.records import NewRecord, encode_records

ONE = bytes(encode_records([NewRecord(b"one")]))
TWO = bytes(encode_records([NewRecord(b"two" * 50)]))


def test_whole_batches_stay_whole() -> None:
    assert whole_batches(memoryview(ONE + TWO)) == ONE + TWO


@pytest.mark.parametrize("size", [1, 11, 12, 60, len(TWO) - 1])
def test_a_batch_that_was_cut_is_left_out(size: int) -> None:
    assert whole_batches(memoryview(ONE + TWO[:size])) == ONE


def test_a_senseless_length_ends_the_search() -> None:
    assert whole_batches(memoryview(ONE + bytes(8) + b"\xff\xff\xff\xff" + bytes(60))) == ONE
