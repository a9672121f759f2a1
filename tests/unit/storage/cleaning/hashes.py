"""The hashes of keys that tests name."""

from collections.abc import Sequence

import numpy as np

from ottla.storage.cleaning.key_hashes import READ_AHEAD_BYTES, KeyHashes, hash_keys


def hashes_of(keys: Sequence[bytes], between: bytes = b"") -> KeyHashes:
    """Of keys that stand one behind the other, perhaps with something in between."""
    lengths = np.array([len(key) for key in keys], np.int64)
    starts = np.array([len(between.join(keys[:number])) for number in range(len(keys))], np.int64)
    starts[1:] += len(between)
    return hash_keys(between.join(keys) + bytes(READ_AHEAD_BYTES), starts, lengths)
