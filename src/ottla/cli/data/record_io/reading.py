"""Records of topics, from one place to another, in the order in which they come.

Alone, a reader knows where each partition ends before it begins, and is done when it has passed all of these ends. As
a member of a group it begins where the group left off, and commits what its caller has dealt with: that is everything
before the last call for more. What a caller failed on is not committed, and comes again.
"""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.words.offset_ranges import END, Anchor, OffsetRange, PartitionEnds, Place, offset_of
from ottla.client import (
    Client,
    ClientError,
    ConsumerSettings,
    CorruptBatch,
    GroupSettings,
    KafkaError,
    OffsetSpec,
    RebalanceListener,
    TopicPartition,
)
from ottla.client.offsets import list_offsets

if TYPE_CHECKING:
    from ottla.client import Consumer, IsolationLevel, Record

POLL_MS: Final = 1_000
COMMIT_INTERVAL_S: Final = 5.0

Bounds = dict[TopicPartition, tuple[int, int | None]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read: topics by name, or all whose names match one of the expressions.

    Of all of them the same partitions are read, or of each its own; none named is all.
    """

    topics: tuple[str, ...]
    is_pattern: bool = False
    partitions: tuple[int, ...] = ()
    partitions_by_topic: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    count: int | None = None
    stops_at_end: bool = False
    skips_corrupt: bool = False


async def matching_topics(client: Client, reading: Reading) -> list[str]:
    """The topics that are there; what was named and is not there is an error."""
    listed = {topic.name: topic for topic in await client.admin.list_topics(include_internal=True)}
    if not reading.is_pattern:
        missing = [name for name in reading.topics if name not in listed]
        if missing:
            raise CommandError(
                f"there is no topic {missing[0]!r}.", ExitCode.NOT_FOUND, remedy="See: ottla topics list"
            )
        return list(dict.fromkeys(reading.topics))
    pattern = topic_pattern(reading.topics)
    found = sorted(name for name, topic in listed.items() if not topic.is_internal and pattern.fullmatch(name))
    if not found:
        raise CommandError(
            f"no topic matches {' or '.join(reading.topics)}.", ExitCode.NOT_FOUND, remedy="See: ottla topics list"
        )
    return found


def topic_pattern(expressions: Iterable[str]) -> re.Pattern[str]:
    """One expression for several."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions))


async def partitions_of(client: Client, wanted_by_topic: Mapping[str, tuple[int, ...]]) -> list[TopicPartition]:
    """The partitions of topics with the wanted numbers, or all where none is wanted."""
    described = await client.admin.describe_topics(wanted_by_topic)
    found = []
    for name, topic in described.items():
        if topic.error is not None:
            raise topic.error
        numbers = [partition.partition for partition in topic.partitions]
        wanted = wanted_by_topic[name]
        missing = [number for number in wanted if number not in numbers]
        if missing:
            text = f"topic {name!r} has no partition {missing[0]}: it has {len(numbers)}, from 0."
            raise CommandError(text, ExitCode.NOT_FOUND)
        found += [TopicPartition(name, number) for number in wanted or sorted(numbers)]
    return found


async def resolve(
    client: Client, partitions: list[TopicPartition], offsets: OffsetRange, isolation: "IsolationLevel"
) -> Bounds:
    """From which offset on each partition is read, and before which one reading ends."""

    async def listed(place: int) -> Mapping[TopicPartition, int]:
        found = await list_offsets(client.cluster, dict.fromkeys(partitions, place), isolation=isolation)
        for partition, offset in found.items():
            if offset.error is not None:
                raise KafkaError(offset.error.code, f"{partition}: {offset.error.message}")
        return {partition: offset.offset for partition, offset in found.items()}

    earliest, latest = await listed(OffsetSpec.EARLIEST), await listed(OffsetSpec.LATEST)
    places = [place for place in (offsets.start, offsets.end) if place is not None]
    times = {place.number: await listed(place.number) for place in places if place.anchor is Anchor.TIME}
    bounds: Bounds = {}
    for partition in partitions:
        ends = PartitionEnds(earliest[partition], latest[partition])
        by_time = {time: found[partition] for time, found in times.items()}
        start = offset_of(offsets.start, ends, by_time)
        # An end that is still to come would never be passed by a reader that waits for it.
        end = None if offsets.end is None else min(offset_of(offsets.end, ends, by_time), ends.latest)
        bounds[partition] = start, end
    return bounds


class Reader:
    """Reads once; `consumer` is there while it does."""

    def __init__(self, client: Client, reading: Reading, settings: ConsumerSettings) -> None:
        self.consumer: Consumer | None = None
        self.received = 0
        self._client = client
        self._reading = reading
        self._settings = settings

    async def from_range(self, offsets: OffsetRange) -> AsyncGenerator[list["Record"]]:
        """Read alone."""
        reading = self._reading
        topics = await matching_topics(self._client, reading)
        wanted = {topic: reading.partitions_by_topic.get(topic, reading.partitions) for topic in topics}
        partitions = await partitions_of(self._client, wanted)
        if reading.stops_at_end and offsets.end is None:
            offsets = replace(offsets, end=END)
        bounds = await resolve(self._client, partitions, offsets, self._settings.isolation)
        left = {partition: end for partition, (start, end) in bounds.items() if end is not None and start < end}
        endless = {partition for partition, (_, end) in bounds.items() if end is None}
        _tell_of_ends(offsets.start, {partition: bounds[partition][0] for partition in endless})
        async with self._client.consumer(self._settings) as consumer:
            self.consumer = consumer
            consumer.assign(left.keys() | endless)
            for partition in consumer.assignment:
                consumer.seek(partition, bounds[partition][0])
            while (left or endless) and not self._has_enough():
                records = await self._poll(consumer)
                if left:
                    records = [
                        record
                        for record in records
                        if (end := left.get(TopicPartition(record.topic, record.partition))) is None
                        or record.offset < end
                    ]
                self.received += len(records)
                if records:
                    yield records
                self._drop_finished(consumer, left)

    def _drop_finished(self, consumer: "Consumer", left: dict[TopicPartition, int]) -> None:
        finished = [partition for partition, end in left.items() if (consumer.position(partition) or 0) >= end]
        for partition in finished:
            del left[partition]
        if finished:
            consumer.assign(consumer.assignment.difference(finished))

    async def in_group(self, group: GroupSettings) -> AsyncGenerator[list["Record"]]:
        """Read what the group gives to this member."""
        reading = self._reading
        settings = replace(self._settings, auto_commit=False)
        async with self._client.consumer(settings, group) as consumer:
            self.consumer = consumer
            commits = _Commits(consumer)
            consumer.subscribe(topic_pattern(reading.topics) if reading.is_pattern else reading.topics, commits)
            while not self._has_enough():
                records = await self._poll(consumer)
                self.received += len(records)
                if records:
                    commits.is_dealt_with = False
                    yield records
                    commits.is_dealt_with = True
                    await commits.commit_if_due()
                elif reading.stops_at_end and _is_at_end(consumer):
                    break

    def _has_enough(self) -> bool:
        return self._reading.count is not None and self.received >= self._reading.count

    async def _poll(self, consumer: "Consumer") -> list["Record"]:
        wanted = self._settings.max_poll_records
        if self._reading.count is not None:
            wanted = min(wanted, self._reading.count - self.received)
        try:
            return await consumer.poll(POLL_MS, max_records=wanted)
        except CorruptBatch as error:
            if not self._reading.skips_corrupt:
                raise
            following = await consumer.seek_past(error)
            told = f"skipped offsets {error.offset} to {following - 1} of {error.partition}: {error.reason}"
            print(f"ottla: warning: {told}", file=sys.stderr)
            return []


class _Commits(RebalanceListener):
    """Commits now and then, and when partitions go, but never what the caller failed on."""

    def __init__(self, consumer: "Consumer") -> None:
        self.is_dealt_with = True
        self._consumer = consumer
        self._due_s = _now_s() + COMMIT_INTERVAL_S

    async def commit_if_due(self) -> None:
        if _now_s() >= self._due_s:
            self._due_s = _now_s() + COMMIT_INTERVAL_S
            await self._consumer.commit()

    async def on_partitions_revoked(self, _partitions: frozenset[TopicPartition]) -> None:
        if self.is_dealt_with:
            # What cannot be committed now is read again by the partition's next owner.
            with contextlib.suppress(ClientError):
                await self._consumer.commit()


def _tell_of_ends(start: Place, begins: Mapping[TopicPartition, int]) -> None:
    """Who asked for an offset that is still to come waits for it, and has to know."""
    if start.anchor is not Anchor.OFFSET:
        return
    for partition, begin in sorted(begins.items()):
        if begin < start.number:
            told = f"{partition} ends at {begin}: waiting for what comes there, before offset {start.number} too"
            print(f"ottla: warning: {told}", file=sys.stderr)


def _is_at_end(consumer: "Consumer") -> bool:
    return bool(consumer.assignment) and all(consumer.lag(partition) == 0 for partition in consumer.assignment)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
