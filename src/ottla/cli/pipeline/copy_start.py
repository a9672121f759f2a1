"""Where a copy starts: how far it came before, or why that is not known.

Its only memory are the offsets that it committed in the group of its name, and brokers forget these
(`offsets.retention.minutes`, a week by default, after the last commit). Nothing tells a copy that was forgotten from
one that never ran, except that there is something in its target. So a copy without offsets into a topic with records
begins only where it is told to; it would else copy everything a second time.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, command_error

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition

BEGINNING: Final = "earliest"


@dataclass(frozen=True, slots=True)
class CopyStart:
    """A copy's name, the number of its source's partitions, whether it ran before, and where it starts if not."""

    name: str
    partitions: int
    has_begun: bool
    offsets: str


async def find_start(client: "Client", source: str, target: str, name: str, offsets: str | None) -> CopyStart:
    """Decide where the copy of this name starts; `offsets` is where the user wants it to start, if given."""
    topics = {topic.name for topic in await client.admin.list_topics(include_internal=True)}
    partitions = await _source_partitions(client, source, topics)
    # Not only stable ones: a copy that was killed may have left a transaction open, which the sink is going to abort
    # before the source asks for offsets again.
    committed = await client.admin.list_group_offsets(name)
    has_begun = any(partition.topic == source for partition in committed)
    if not has_begun and offsets is None and target in topics and await _has_records(client, target):
        raise CommandError(
            f"{target} has records, and no offsets of group {name} say how far this copy has come: it never ran, or "
            "the broker has forgotten it",
            ExitCode.CONFLICT,
            f"Say where it starts: --offsets {BEGINNING} copies everything, --offsets latest what comes from now on, "
            f'and --offsets \'{{"{source}": {{"0": 23, ...}}}}\' from there on.',
        )
    return CopyStart(name, partitions, has_begun, offsets or BEGINNING)


async def _source_partitions(client: "Client", source: str, topics: set[str]) -> int:
    from ottla.config.spelling import closest

    if source not in topics:
        meant = closest(source, topics)
        remedy = f"Did you mean {meant}?" if meant else "`ottla topics list` shows those that there are."
        raise CommandError(f"there is no topic {source}", ExitCode.NOT_FOUND, remedy)
    return len(await _partitions_of(client, source))


async def _has_records(client: "Client", topic: str) -> bool:
    """Whether there are committed records in a topic, or were: those of aborted transactions do not count."""
    from ottla.client import ConsumerSettings, IsolationLevel, OffsetReset, OffsetSpec

    partitions = await _partitions_of(client, topic)
    first = await _offsets_at(client, partitions, OffsetSpec.EARLIEST)
    ends = await _offsets_at(client, partitions, OffsetSpec.LATEST)
    if any(first.values()):
        return True
    unread = [partition for partition in partitions if ends[partition] > 0]
    settings = ConsumerSettings(isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.EARLIEST)
    async with client.consumer(settings) as consumer:
        consumer.assign(unread)
        while any((consumer.position(partition) or 0) < ends[partition] for partition in unread):
            if await consumer.poll(max_records=1):
                return True
    return False


async def _partitions_of(client: "Client", topic: str) -> "list[TopicPartition]":
    from ottla.client import TopicPartition

    described = (await client.admin.describe_topics([topic]))[topic]
    if described.error is not None:
        raise command_error(described.error)
    return [TopicPartition(topic, number) for number in range(len(described.partitions))]


async def _offsets_at(client: "Client", partitions: "list[TopicPartition]", place: int) -> "dict[TopicPartition, int]":
    """The offsets of a place; the end is where readers of committed records stop."""
    from ottla.client import IsolationLevel

    found = await client.admin.list_offsets(dict.fromkeys(partitions, place), isolation=IsolationLevel.READ_COMMITTED)
    for listed in found.values():
        if listed.error is not None:
            raise command_error(listed.error)
    return {partition: listed.offset for partition, listed in found.items()}
