"""Partitions of a column of keys."""

import numpy as np
import pyarrow as pa
import pytest

from ottla.client.columns import partitions_of_keys

# What Kafka's own murmur2 makes of these.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def test_known_keys_meet_the_partitions_of_kafkas_producers() -> None:
    found = partitions_of_keys(pa.array(list(KNOWN)), 1_000_003)
    assert found.dtype == np.int32
    assert found.tolist() == [(value & 0x7FFFFFFF) % 1_000_003 for value in KNOWN.values()]


def test_null_keys_have_no_partition_and_strings_are_keys() -> None:
    keys = pa.chunked_array([pa.array(["x", None, "abc"]), pa.array(["foobar", "y"])]).slice(1, 3)
    expected = [-1, (KNOWN[b"abc"] & 0x7FFFFFFF) % 7, (KNOWN[b"foobar"] & 0x7FFFFFFF) % 7]
    assert partitions_of_keys(keys, 7).tolist() == expected


def test_no_keys_have_no_partitions() -> None:
    assert partitions_of_keys(pa.array([], pa.binary()), 3).tolist() == []
    assert partitions_of_keys(pa.nulls(2, pa.binary()), 3).tolist() == [-1, -1]
    assert partitions_of_keys(pa.array([b"", b""]), 1).tolist() == [0, 0]


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one partition, not 0"):
        partitions_of_keys(pa.array([b"k"]), 0)
