"""Partitions as commands name them: `orders`, `orders:0`, `orders:0,2,5-7`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition

# More than any topic has: a typing error in a range must not fill the memory.
_RANGE_MAX: Final = 100_000
_WRITTEN: Final = "Write TOPIC or TOPIC:0,1,4-7."


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """A topic, and those of its partitions that are meant; None is all."""

    topic: str
    partitions: tuple[int, ...] | None = None

    def includes(self, partition: "TopicPartition") -> bool:
        return partition.topic == self.topic and (self.partitions is None or partition.partition in self.partitions)


def parse_selection(text: str) -> TopicSelection:
    """`TOPIC` or `TOPIC:PARTITIONS`, where partitions are numbers and ranges with commas between them."""
    topic, separator, numbers = text.partition(":")
    if not topic or (separator and not numbers):
        raise UsageError(f"{text!r} names no partitions.", remedy=_WRITTEN)
    if not separator:
        return TopicSelection(topic)
    return TopicSelection(topic, tuple(dict.fromkeys(n for part in numbers.split(",") for n in _numbers(part, text))))


def _numbers(part: str, text: str) -> Iterable[int]:
    low, dash, high = part.strip().partition("-")
    if not all(number.isascii() and number.isdigit() for number in ((low, high) if dash else (low,))):
        raise UsageError(f"{part!r} in {text!r} is not the number of a partition.", remedy=_WRITTEN)
    first = int(low)
    last = int(high) if dash else first
    if last < first:
        raise UsageError(f"{part!r} in {text!r} ends before it begins.", remedy=_WRITTEN)
    if last - first >= _RANGE_MAX:
        raise UsageError(f"{part!r} in {text!r} names more than {_RANGE_MAX} partitions.", remedy=_WRITTEN)
    return range(first, last + 1)


async def resolve_selections(client: "Client", selections: Iterable[TopicSelection]) -> "list[TopicPartition]":
    """The partitions that are meant, in order; an error names the first that does not exist."""
    from ottla.client import TopicPartition

    wanted = list(selections)
    counts = await partition_counts(client, [selection.topic for selection in wanted])
    found: dict[TopicPartition, None] = {}
    for selection in wanted:
        count = counts[selection.topic]
        for number in range(count) if selection.partitions is None else selection.partitions:
            if number >= count:
                raise CommandError(
                    f"Topic {selection.topic} has no partition {number}: it has {count}, counted from 0.",
                    ExitCode.NOT_FOUND,
                )
            found[TopicPartition(selection.topic, number)] = None
    return sorted(found)


async def partition_counts(client: "Client", topics: Iterable[str]) -> Mapping[str, int]:
    """How many partitions each topic has; an error names the first that does not exist."""
    names = list(dict.fromkeys(topics))
    described = await client.admin.describe_topics(names) if names else {}
    for name in names:
        if (error := described[name].error) is not None:
            failed = command_error(error)
            raise CommandError(
                f"Topic {name}: {error.message}.",
                failed.code,
                remedy="`ottla topics list` shows what is there." if failed.code is ExitCode.NOT_FOUND else None,
            ) from error
    return {name: len(described[name].partitions) for name in names}
