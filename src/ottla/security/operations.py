"""Kafka's operations on resources, and the sets of them that answers carry as bits (KIP-430)."""

from enum import IntEnum


class Operation(IntEnum):
    """What a principal may be allowed to do."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


# What a field of authorized operations holds when nobody asked for them.
NOT_REQUESTED = -(2**31)


def as_bits(operations: frozenset[Operation]) -> int:
    """A set of operations as a response carries it: one bit each."""
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS = frozenset(
    {
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    }
)
TRANSACTIONAL_ID_OPERATIONS = frozenset({Operation.DESCRIBE, Operation.WRITE})
GROUP_OPERATIONS = frozenset(
    {
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    }
)
CLUSTER_OPERATIONS = frozenset(
    {
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    }
)
