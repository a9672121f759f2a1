"""Replicas chosen by hand, as they are written on a command line: `1:2,2:3` is two partitions of two replicas."""

from ottla.cli.exits import UsageError
from ottla.cli.words.whole_numbers import int32


def parse_assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """The brokers of each partition, in order; every partition has as many, none of them twice."""
    partitions: list[tuple[int, ...]] = []
    for number, written in enumerate(text.split(",")):
        try:
            brokers = tuple(int32(part) for part in written.split(":"))
        except ValueError:
            remedy = "Write the ids of brokers: colons between the replicas of a partition, commas between partitions."
            raise UsageError(f"{written!r} does not name the brokers of partition {number}.", remedy) from None
        twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise UsageError(f"Partition replica lists may not contain duplicate entries: {listed}")
        if partitions and len(brokers) != len(partitions[0]):
            raise UsageError(f"Partition {number} has different replication factor: {list(brokers)}")
        partitions.append(brokers)
    return tuple(partitions)
