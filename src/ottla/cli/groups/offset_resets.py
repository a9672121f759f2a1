"""Moving a group's committed offsets: the target, the resulting plan, and the file that undoes it.

A plan is made from what the cluster says and changes nothing. An offset outside the partition is moved to its nearest
end, as Kafka's tool does; the plan says so. The file has Kafka's format, `[GROUP,]TOPIC,PARTITION,OFFSET` in each line;
an offset of -1 stands for "nothing was committed", so that undoing can forget what a reset made up.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, UsageError, command_error
from ottla.cli.words.moments import is_duration, parse_moment
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.client import Client, KafkaError, TopicPartition

NOTHING_COMMITTED: Final = -1
_BARE_NAME_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The first record that is there."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """After the last record."""


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """Where the group is; the end where it is nowhere."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    """One offset in all partitions."""

    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """Forward or back by this many records."""

    count: int


@dataclass(frozen=True, slots=True)
class ToTime:
    """The first record that is not older; the end where there is none."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ToPlanned:
    """Offsets of a file; -1 makes the group forget the partition, where that is allowed."""

    offsets: "Mapping[TopicPartition, int]"
    may_forget: bool = False


Target = ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToTime | ToPlanned

_WORDS: Final[Mapping[str, Target]] = {
    "earliest": ToEarliest(),
    "start": ToEarliest(),
    "latest": ToLatest(),
    "end": ToLatest(),
    "current": ToCurrent(),
}


def parse_target(text: str, now_ms: int) -> Target:
    """Parse the target of `groups reset --to`: a word, an offset, +N, -N, @TIME, or a duration ago without the @."""
    if text in _WORDS:
        return _WORDS[text]
    # A shift has no unit: -10 is ten records back, -10m ten minutes ago.
    if text.startswith("@") or is_duration(text):
        try:
            return ToTime(parse_moment(text.removeprefix("@"), now_ms))
        except ValueError as error:
            raise UsageError(f"--to {text}: {error}.") from None
    try:
        number = int64(text)
    except ValueError:
        raise UsageError(
            f"--to {text} is no place in a partition.",
            remedy="Write earliest, latest, current, an offset, +10, -10, @-15m or @2026-01-31T12:00:00Z.",
        ) from None
    return ShiftBy(number) if text[0] in "+-" else ToOffset(number)


@dataclass(frozen=True, slots=True)
class PlannedOffset:
    """A partition's offset before and after; None before is "nothing committed". `note` says what did not fit."""

    partition: "TopicPartition"
    old: int | None
    new: int
    note: str | None = None

    @property
    def skipped(self) -> int:
        """Records that the group will not see."""
        return 0 if self.old is None else max(0, self.new - self.old)

    @property
    def replayed(self) -> int:
        """Records that the group will see again."""
        return 0 if self.old is None or self.new < 0 else max(0, self.old - self.new)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The offsets that a partition holds."""

    earliest: int
    latest: int

    def clamp(self, partition: "TopicPartition", offset: int) -> tuple[int, str | None]:
        """The offset, or the nearest that exists and a sentence about it."""
        if offset > self.latest:
            return self.latest, _moved(offset, "higher than latest", partition, self.latest)
        if offset < self.earliest:
            return self.earliest, _moved(offset, "lower than earliest", partition, self.earliest)
        return offset, None


def _moved(offset: int, relation: str, partition: "TopicPartition", bound: int) -> str:
    return f"New offset ({offset}) is {relation} offset for topic partition {partition}. Value will be set to {bound}"


async def committed_offsets(
    client: "Client", group_id: str, partitions: "Iterable[TopicPartition] | None" = None
) -> "dict[TopicPartition, int]":
    """Where a group is, for those partitions where it is somewhere."""
    committed = await client.admin.list_group_offsets(group_id, partitions)
    for offset in committed.values():
        if offset.error is not None:
            raise command_error(offset.error) from offset.error
    return {partition: found.offset for partition, found in committed.items() if found.offset >= 0}


async def plan_reset(
    client: "Client", group_id: str, partitions: "Sequence[TopicPartition]", target: Target
) -> list[PlannedOffset]:
    """What a reset would change, in the order of the partitions."""
    committed = await committed_offsets(client, group_id, partitions) if partitions else {}
    if isinstance(target, ShiftBy):
        for partition in partitions:
            if partition not in committed:
                raise CommandError(
                    f"Cannot shift offset for partition {partition} since there is no current committed offset"
                )
    bounds = await _bounds(client, partitions)
    if isinstance(target, ToTime):
        return await _plan_by_time(client, partitions, target.timestamp_ms, committed, bounds)
    return [
        _plan_one(partition, target, committed.get(partition), bounds[partition])
        for partition in partitions
        if not isinstance(target, ToPlanned) or partition in target.offsets
    ]


def _plan_one(partition: "TopicPartition", target: Target, old: int | None, bounds: Bounds) -> PlannedOffset:
    note = None
    if isinstance(target, ToEarliest):
        new = bounds.earliest
    elif isinstance(target, ToLatest):
        new = bounds.latest
    elif isinstance(target, ToCurrent):
        new = bounds.latest if old is None else old
    elif isinstance(target, ShiftBy):
        assert old is not None, "a shift starts from a committed offset"
        new, note = bounds.clamp(partition, old + target.count)
    elif isinstance(target, ToPlanned):
        wanted = target.offsets[partition]
        is_forgotten = target.may_forget and wanted == NOTHING_COMMITTED
        new, note = (wanted, None) if is_forgotten else bounds.clamp(partition, wanted)
    else:
        assert isinstance(target, ToOffset), f"{target} has a plan of its own"
        new, note = bounds.clamp(partition, target.offset)
    return PlannedOffset(partition, old, new, note)


async def _plan_by_time(
    client: "Client",
    partitions: "Sequence[TopicPartition]",
    timestamp_ms: int,
    committed: "Mapping[TopicPartition, int]",
    bounds: "Mapping[TopicPartition, Bounds]",
) -> list[PlannedOffset]:
    found = await client.admin.list_offsets(dict.fromkeys(partitions, max(0, timestamp_ms)))
    planned = []
    for partition in partitions:
        answer = found[partition]
        if answer.error is not None:
            raise command_error(answer.error) from answer.error
        old = committed.get(partition)
        if answer.offset >= 0:
            planned.append(PlannedOffset(partition, old, answer.offset))
        else:
            note = (
                f"Warn: Partition {partition.partition} from topic {partition.topic} is empty. "
                "Falling back to latest known offset."
            )
            planned.append(PlannedOffset(partition, old, bounds[partition].latest, note))
    return planned


async def _bounds(client: "Client", partitions: "Sequence[TopicPartition]") -> "dict[TopicPartition, Bounds]":
    from ottla.client import OffsetSpec

    earliest = await client.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
    latest = await client.admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    for answer in (*earliest.values(), *latest.values()):
        if answer.error is not None:
            raise command_error(answer.error) from answer.error
    return {partition: Bounds(earliest[partition].offset, latest[partition].offset) for partition in partitions}


async def commit_plan(client: "Client", group_id: str, planned: Iterable[PlannedOffset]) -> None:
    """Carry out a plan; raises the first refusal."""
    moved = {one.partition: one.new for one in planned if one.new != NOTHING_COMMITTED}
    forgotten = [one.partition for one in planned if one.new == NOTHING_COMMITTED and one.old is not None]
    errors: dict[TopicPartition, KafkaError | None] = {}
    if moved:
        errors |= await client.admin.alter_group_offsets(group_id, moved)
    if forgotten:
        errors |= await client.admin.delete_group_offsets(group_id, forgotten)
    for error in errors.values():
        if error is not None:
            raise command_error(error) from error


def read_plan(text: str, path: str) -> "dict[str | None, dict[TopicPartition, int]]":
    """The offsets of a file, by group; those of lines without a group are under None."""
    from ottla.client import TopicPartition

    plans: dict[str | None, dict[TopicPartition, int]] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not row:
            continue
        group_id, fields = (row[0], row[1:]) if len(row) == 4 else (None, row)
        try:
            topic, partition, offset = fields
            plans.setdefault(group_id, {})[TopicPartition(topic, int32(partition))] = int64(offset)
        except ValueError:
            raise UsageError(
                f"{path}, line {number}: {','.join(row)!r} is not [GROUP,]TOPIC,PARTITION,OFFSET."
            ) from None
    return plans


def write_plan(offsets: "Iterable[tuple[str, TopicPartition, int]]", *, with_group: bool) -> str:
    """The lines of a file for these groups' offsets."""
    lines = []
    for group_id, (topic, partition), offset in offsets:
        names = [group_id, topic] if with_group else [topic]
        lines.append(",".join((*map(_quoted, names), str(partition), str(offset))) + "\n")
    return "".join(lines)


def _quoted(name: str) -> str:
    """A name as Kafka's tool writes it: in quotes where it needs them, or is long."""
    if len(name) <= _BARE_NAME_MAX and not any(character in name for character in ',"\r\n'):
        return name
    return '"' + name.replace('"', '""') + '"'
