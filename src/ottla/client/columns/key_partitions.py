"""The partitions of a column of keys: murmur2 of all of them, word by word, equal to that in `partitioner`."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ottla.client.columns.binary_columns import binary_values
from ottla.client.partitioner import MURMUR2_MULTIPLIER, MURMUR2_SEED, murmur2

UInt32s = npt.NDArray[np.uint32]

_MULTIPLIER = np.uint32(MURMUR2_MULTIPLIER)
_WORD_BYTES = 4
# Longer keys are hashed one by one: a single long one would cost all the others as many steps as it has words.
_TOGETHER_BYTES_MAX = 256
_NO_KEY = -1


def partitions(keys: Any, partition_count: int) -> npt.NDArray[np.int32]:
    """The partition of each key; -1 where there is none."""
    if partition_count < 1:
        raise ValueError(f"a topic has at least one partition, not {partition_count}")
    column, lengths = binary_values(keys, "keys")
    if not len(column):
        return np.empty(0, np.int32)
    _, bounds_buffer, content = column.buffers()
    starts = np.frombuffer(bounds_buffer, np.int64)[column.offset : column.offset + len(column)]
    data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(1, np.uint8)
    hashes = _hashes(data, starts, np.maximum(lengths, 0))
    found = ((hashes & np.uint32(0x7FFFFFFF)) % np.uint32(partition_count)).astype(np.int32)
    found[lengths < 0] = _NO_KEY
    return found


def _hashes(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> UInt32s:
    values = np.uint32(MURMUR2_SEED) ^ lengths.astype(np.uint32)
    is_long = lengths > _TOGETHER_BYTES_MAX
    together = np.where(is_long, 0, lengths)
    if len(data) >= _WORD_BYTES:
        # A word begins at every byte.
        words = np.ndarray((len(data) - _WORD_BYTES + 1,), np.dtype("<u4"), data, strides=(1,))
        for end in range(_WORD_BYTES, int(together.max()) + 1, _WORD_BYTES):
            rows = np.flatnonzero(together >= end)
            mixed = words[starts[rows] + (end - _WORD_BYTES)] * _MULTIPLIER
            mixed = (mixed ^ mixed >> np.uint32(24)) * _MULTIPLIER
            values[rows] = (values[rows] * _MULTIPLIER) ^ mixed
    left = together % _WORD_BYTES
    for number in (2, 1, 0):
        rows = np.flatnonzero(left > number)
        byte = data[starts[rows] + together[rows] - left[rows] + number].astype(np.uint32)
        values[rows] ^= byte << np.uint32(8 * number)
    values[left > 0] *= _MULTIPLIER
    values = (values ^ values >> np.uint32(13)) * _MULTIPLIER
    values ^= values >> np.uint32(15)
    for row in np.flatnonzero(is_long).tolist():
        values[row] = murmur2(data[starts[row] : starts[row] + lengths[row]].tobytes())
    return values
