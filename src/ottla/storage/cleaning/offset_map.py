"""From the hash of a key to the latest offset at which it occurs, in memory of a fixed size.

An entry takes 24 bytes: 128 bits of hash and an offset. Keys themselves are not kept. Two keys with the same hash would
be taken for one, and the older of them lost; with 128 bits that does not happen by accident, and it cannot be brought
about, because the hash is SipHash with the process's own random key (PEP 456), taken twice over different bytes.

The table uses double hashing over a prime number of slots, so that every slot is tried before a search gives up, and is
never full: `capacity` is the share of the slots that the load factor allows. The pages of the table are the system's
own zeros until they are written, so that a large map with few keys costs little.
"""

import mmap
from collections.abc import Iterable

ENTRY_BYTES = 24
_WORDS = 3
_MIN_SLOTS = 3
# Tells the second hash of a key from the first of any.
_SECOND = b"\x01"


class OffsetMap:
    """Latest offsets by key; `latest_offset` is how far the log was looked at."""

    __slots__ = ("_memory", "_slots", "_words", "capacity", "latest_offset", "size")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._slots = _largest_prime(max(memory_bytes // ENTRY_BYTES, _MIN_SLOTS))
        # One slot stays free, so that every search ends.
        self.capacity = max(1, min(int(self._slots * load_factor), self._slots - 1))
        self._memory = mmap.mmap(-1, self._slots * ENTRY_BYTES)
        self._words = memoryview(self._memory).cast("q")
        self.size = 0
        self.latest_offset = -1

    @property
    def utilization(self) -> float:
        """The share of the slots in use."""
        return self.size / self._slots

    def put_all(self, records: Iterable[tuple[bytes, int]]) -> bool:
        """Note keys at ascending offsets; False at the first new key for which there is no room.

        `latest_offset` is that of the last record noted.
        """
        words, slots, capacity = self._words, self._slots, self.capacity
        steps = slots - 1
        size = self.size
        offset = self.latest_offset
        try:
            for key, record_offset in records:
                first, second = hash(key), hash(_SECOND + key)
                slot = first % slots
                at = slot * _WORDS
                while words[at] != first or words[at + 1] != second:
                    if not words[at] and not words[at + 1]:
                        if size >= capacity:
                            return False
                        words[at], words[at + 1] = first, second
                        size += 1
                        break
                    slot = (slot + 1 + second % steps) % slots
                    at = slot * _WORDS
                words[at + 2] = offset = record_offset
            return True
        finally:
            self.size = size
            self.latest_offset = offset

    def latest_of(self, keys: Iterable[bytes]) -> list[int]:
        """The latest offset of each key, -1 for those that were not noted."""
        words, slots = self._words, self._slots
        steps = slots - 1
        found: list[int] = []
        for key in keys:
            first, second = hash(key), hash(_SECOND + key)
            slot = first % slots
            at = slot * _WORDS
            while words[at] != first or words[at + 1] != second:
                if not words[at] and not words[at + 1]:
                    found.append(-1)
                    break
                slot = (slot + 1 + second % steps) % slots
                at = slot * _WORDS
            else:
                found.append(words[at + 2])
        return found

    def close(self) -> None:
        """Give the memory back."""
        self._words.release()
        self._memory.close()


def _largest_prime(limit: int) -> int:
    candidate = limit if limit % 2 else limit - 1
    while not _is_prime(candidate):
        candidate -= 2
    return candidate


def _is_prime(odd: int) -> bool:
    return all(odd % divisor for divisor in range(3, int(odd**0.5) + 1, 2))
