"""From the hash of a key to the latest offset at which it occurs, in memory of a fixed size.

An entry takes 24 bytes: 128 bits of hash and an offset. Keys themselves are not kept (`key_hashes` says why that is
safe). The table uses double hashing over a prime number of slots, so that every slot is tried before a search gives up,
and is never full: `capacity` is the share of the slots that the load factor allows. The memory is the system's own
zeros until it is written, so that a large map with few keys costs little.

All keys of a chunk take one step of their search at the same time; those that have found their slot drop out. If
several new keys compete for a free slot, the one written last keeps it and the others search on.
"""

import numpy as np
import numpy.typing as npt

from ottla.storage.cleaning.key_hashes import KeyHashes

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

ENTRY_BYTES = 24
_MIN_SLOTS = 3
_NOT_FOUND = -1


class OffsetMap:
    """The latest offset of each key; `latest_offset` is how far the log has been read."""

    __slots__ = ("_first", "_offsets", "_second", "_slots", "capacity", "latest_offset", "size")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._slots = _largest_prime(max(memory_bytes // ENTRY_BYTES, _MIN_SLOTS))
        # One slot stays free, so that every search ends.
        self.capacity = max(1, min(int(self._slots * load_factor), self._slots - 1))
        self._first: UInt64s = np.zeros(self._slots, np.uint64)
        self._second: UInt64s = np.zeros(self._slots, np.uint64)
        self._offsets: Int64s = np.zeros(self._slots, np.int64)
        self.size = 0
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        """The share of the slots in use."""
        return self.size / self._slots

    def put(self, hashes: KeyHashes, offsets: Int64s) -> bool:
        """Note keys at ascending offsets; False at the first new key for which there is no room.

        `latest_offset` is then the offset before it.
        """
        if len(offsets) == 0:
            return True
        fitting = len(offsets)
        if self.size + fitting > self.capacity:
            fitting = self._fitting(hashes)
        self._put(hashes.at(np.arange(fitting)), offsets[:fitting])
        if fitting < len(offsets):
            self.latest_offset = int(offsets[fitting]) - 1
            return False
        self.latest_offset = int(offsets[-1])
        return True

    def latest_of(self, hashes: KeyHashes) -> Int64s:
        """The latest offset of each key, -1 for those that were not noted."""
        found: Int64s = np.full(len(hashes.first), _NOT_FOUND, np.int64)
        rows = np.arange(len(hashes.first))
        slots = self._home(hashes)
        while rows.size:
            first, second = self._first[slots], self._second[slots]
            is_same = (first == hashes.first[rows]) & (second == hashes.second[rows])
            found[rows[is_same]] = self._offsets[slots[is_same]]
            goes_on = ~is_same & ((first | second) != 0)
            rows, slots = rows[goes_on], slots[goes_on]
            slots = self._next(slots, hashes.second[rows])
        return found

    def _fitting(self, hashes: KeyHashes) -> int:
        """How many of the keys can be noted one after the other, until a new one finds no room."""
        new = np.flatnonzero(self.latest_of(hashes) == _NOT_FOUND)
        pairs = np.stack((hashes.first[new], hashes.second[new]), axis=1)
        _, firsts = np.unique(pairs, axis=0, return_index=True)
        room = self.capacity - self.size
        if len(firsts) <= room:
            return len(hashes.first)
        return int(new[np.sort(firsts)[room]])

    def _put(self, hashes: KeyHashes, offsets: Int64s) -> None:
        rows = np.arange(len(offsets))
        slots = self._home(hashes)
        while rows.size:
            is_free = (self._first[slots] | self._second[slots]) == 0
            free = slots[is_free]
            self._first[free] = hashes.first[rows[is_free]]
            self._second[free] = hashes.second[rows[is_free]]
            self.size += len(np.unique(free))
            is_mine = (self._first[slots] == hashes.first[rows]) & (self._second[slots] == hashes.second[rows])
            # Of several offsets for one slot the last write wins, which is the latest offset.
            self._offsets[slots[is_mine]] = offsets[rows[is_mine]]
            rows, slots = rows[~is_mine], slots[~is_mine]
            slots = self._next(slots, hashes.second[rows])

    def _home(self, hashes: KeyHashes) -> Int64s:
        home: Int64s = (hashes.first % np.uint64(self._slots)).astype(np.int64)
        return home

    def _next(self, slots: Int64s, second: UInt64s) -> Int64s:
        step = (second % np.uint64(self._slots - 1)).astype(np.int64) + 1
        following: Int64s = (slots + step) % self._slots
        return following


def _largest_prime(limit: int) -> int:
    candidate = limit if limit % 2 else limit - 1
    while not _is_prime(candidate):
        candidate -= 2
    return candidate


def _is_prime(odd: int) -> bool:
    return all(odd % divisor for divisor in range(3, int(odd**0.5) + 1, 2))
