"""Which partition of an internal topic a coordinator key belongs to.

Clients never compute this, but every broker must agree, and a log written by Apache Kafka must be found again: the
hash is Java's `String.hashCode`, over UTF-16 code units, and its absolute value (0 for the one that has none in 32
bits) picks the partition.
"""

from functools import lru_cache

_HASHES_KEPT = 16_384
_INT_MASK = 0xFFFFFFFF
_INT_MIN = -(2**31)


# Every request of a group asks for its hash, and Python takes a microsecond for ten characters.
@lru_cache(maxsize=_HASHES_KEPT)
def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`, a signed 32-bit number."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & _INT_MASK
    return value - 2**32 if value >= 2**31 else value


def partition_for(key: str, partition_count: int) -> int:
    """The partition that holds the state of this group id (or transactional id)."""
    if partition_count <= 0:
        raise ValueError(f"a coordinator topic has at least one partition, not {partition_count}")
    value = java_string_hash(key)
    return 0 if value == _INT_MIN else abs(value) % partition_count
