"""The name of a partition: its topic and its number there.

Every package names partitions this way: as arguments, as keys and in messages to people. It is a tuple, so it orders,
compares and hashes as one; code that looks partitions up for every request may use the bare pair as the key.
"""

from typing import NamedTuple, TypeAlias

# One partition by the id of its topic, which another topic of the same name does not have.
TopicIdPartition: TypeAlias = tuple[bytes, int]


class TopicPartition(NamedTuple):
    """One partition of a topic, by name. It prints as Kafka's logs and directories have it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
