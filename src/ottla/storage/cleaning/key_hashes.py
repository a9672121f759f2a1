"""A hash of 128 bits for each key, for all keys of a buffer at once.

Two keys with the same hash would be taken for one, and the older record would be lost. The hash is multilinear over
words of 32 bits, four times with random factors of 64 bits of which the upper half of the result is used: for any two
keys the chance of a collision is 2^-128, whatever the keys are (Lemire and Kaser, "Strongly universal string hashing is
fast"). The factors are drawn anew in each process, so that nobody can choose keys that collide; what a pass keeps does
not depend on them otherwise. Long keys, for which the factors would be many, go through a keyed BLAKE2.
"""

import secrets
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

UInt64s = npt.NDArray[np.uint64]

_WORD_BYTES = 4
_WORDS_MAX = 64
_ROUNDS = 4
# How far past a key its last word may be read.
READ_AHEAD_BYTES = _WORD_BYTES
_UPPER = np.uint64(0xFFFFFFFF00000000)
_HALF = np.uint64(32)
# For the words, for the length, and a summand.
_FACTORS: UInt64s = np.frombuffer(secrets.token_bytes(8 * _ROUNDS * (_WORDS_MAX + 2)), np.uint64).reshape(_ROUNDS, -1)
_LONG_KEY = secrets.token_bytes(32)


class KeyHashes(NamedTuple):
    """Two columns of 64 bits; never both 0, which stands for no key."""

    first: UInt64s
    second: UInt64s

    def at(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "KeyHashes":
        """Those of some rows."""
        return KeyHashes(self.first[rows], self.second[rows])


def hash_keys(data: bytes, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> KeyHashes:
    """The hash of each key, which begins at a position; `data` goes on for READ_AHEAD_BYTES after the last."""
    sums = [factors[-1] + factors[-2] * lengths.astype(np.uint64) for factors in _FACTORS]
    # A word begins at every byte.
    words = np.ndarray((len(data) - _WORD_BYTES + 1,), np.dtype("<u4"), data, strides=(1,))
    is_long = lengths > _WORD_BYTES * _WORDS_MAX
    longest = int(lengths[~is_long].max(initial=0))
    for number in range(-(-longest // _WORD_BYTES)):
        begin = _WORD_BYTES * number
        rows = np.flatnonzero((lengths > begin) & ~is_long)
        everywhere = len(rows) == len(lengths)
        word = words[(starts if everywhere else starts[rows]) + begin].astype(np.uint64)
        left = (lengths if everywhere else lengths[rows]) - begin
        if left.min() < _WORD_BYTES:
            # What follows a key is not part of it.
            bits = 8 * np.minimum(left, _WORD_BYTES).astype(np.uint64)
            word &= (np.uint64(1) << bits) - np.uint64(1)
        for round_sums, factors in zip(sums, _FACTORS, strict=True):
            round_sums[slice(None) if everywhere else rows] += factors[number] * word
    hashes = KeyHashes((sums[0] & _UPPER) | sums[1] >> _HALF, (sums[2] & _UPPER) | sums[3] >> _HALF)
    for row in np.flatnonzero(is_long).tolist():
        digest = blake2b(data[starts[row] : starts[row] + lengths[row]], digest_size=16, key=_LONG_KEY).digest()
        hashes.first[row], hashes.second[row] = np.frombuffer(digest, np.uint64)
    hashes.first[(hashes.first | hashes.second) == 0] = 1
    return hashes
