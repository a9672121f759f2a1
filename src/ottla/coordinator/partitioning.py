"""Which partition of an internal topic a coordinator key belongs to.

Clients never compute this, but every broker must agree, and a log written by Apache Kafka must be found again: the
hash is Java's `String.hashCode`, over UTF-16 code units, made non-negative by clearing the sign bit.
"""

_INT_MASK = 0xFFFFFFFF
_SIGN_CLEARED = 0x7FFFFFFF


def java_string_hash(text: str) -> int:
    """Java's `String.hashCode` as an unsigned 32-bit number."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & _INT_MASK
    return value


def partition_for(key: str, partition_count: int) -> int:
    """The partition that holds the state of this group id (or transactional id)."""
    if partition_count <= 0:
        raise ValueError(f"a coordinator topic has at least one partition, not {partition_count}")
    return (java_string_hash(key) & _SIGN_CLEARED) % partition_count
