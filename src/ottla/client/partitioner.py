"""Which partition a record goes to, as Kafka's own clients decide it.

A key always goes to the same partition: murmur2 of its bytes, made non-negative, modulo the number of partitions. Every
bit matters, because producers in several languages write to one topic. Records without a key stick to one partition
until a batch's worth of bytes has gone there, then to another (KIP-794): batches become large, and the load is even.
"""

import struct
from collections.abc import Callable, Sequence

MURMUR2_MULTIPLIER = 0x5BD1E995
MURMUR2_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash as an unsigned number."""
    length = len(data)
    value = MURMUR2_SEED ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        mixed = word * MURMUR2_MULTIPLIER & _MASK
        mixed = (mixed ^ mixed >> 24) * MURMUR2_MULTIPLIER & _MASK
        value = (value * MURMUR2_MULTIPLIER & _MASK) ^ mixed
    if whole < length:
        value = (value ^ int.from_bytes(data[whole:], "little")) * MURMUR2_MULTIPLIER & _MASK
    value = (value ^ value >> 13) * MURMUR2_MULTIPLIER & _MASK
    return value ^ value >> 15


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """Partitions for records without a key; `choose(n)` gives a random number below n."""

    def __init__(self, switch_bytes: int, choose: Callable[[int], int]) -> None:
        self._switch_bytes = switch_bytes
        self._choose = choose
        self._current: dict[str, tuple[int, int]] = {}

    def partition(self, topic: str, size_bytes: int, available: Sequence[int]) -> int:
        """The partition for a record of this size, one of those that have a leader now."""
        partition, written = self._current.get(topic, (-1, 0))
        if partition not in available or written >= self._switch_bytes:
            others = [number for number in available if number != partition] or list(available)
            partition, written = others[self._choose(len(others))], 0
        self._current[topic] = (partition, written + size_bytes)
        return partition
