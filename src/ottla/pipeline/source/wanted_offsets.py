"""Where reading starts or ends, as the options say it: at a place, at offsets, or at times.

Three options say the same thing, and the more general one wins, as in Spark's Kafka connector: a time for all
partitions, then times by partition, then offsets. `committed` is ours: the committed offsets of a group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ottla.client.offsets import OffsetSpec
from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.offsets import listed, parse_numbers
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.written_numbers import parse_whole_number

EARLIEST, LATEST, COMMITTED = "earliest", "latest", "committed"
_PLACES: Final = {EARLIEST: OffsetSpec.EARLIEST, LATEST: OffsetSpec.LATEST}


@dataclass(frozen=True, slots=True)
class AtPlace:
    """The beginning or the end of every partition."""

    spec: OffsetSpec


@dataclass(frozen=True, slots=True)
class AtCommitted:
    """What a group has committed; the beginning where it has not."""

    group_id: str


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """Given offsets, of which -2 is the beginning and -1 the end."""

    offsets: tuple[tuple[TopicPartition, int], ...]
    option: str


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record that is not older than a time in ms, which is one for all partitions or each one's own.

    Where there is none: the end, or an error if `must_exist`.
    """

    timestamps_ms: int | tuple[tuple[TopicPartition, int], ...]
    option: str
    must_exist: bool


WantedOffsets: TypeAlias = AtPlace | AtCommitted | AtOffsets | AtTimes


def parse_start(options: Mapping[str, str], default: OffsetSpec, group_id: str | None) -> WantedOffsets:
    """Where reading starts; names of options in lower case."""
    strategy = options.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if strategy not in ("error", LATEST):
        raise OptionError(f"startingOffsetsByTimestampStrategy={strategy} is neither error nor {LATEST}")
    wanted = _parse("starting", options, default, must_exist=strategy == "error")
    if wanted is not None:
        return wanted
    if group_id is None:
        raise OptionError(
            f"startingOffsets={COMMITTED} needs a group whose offsets they are: "
            'add .option("kafka.group.id", "<group>")'
        )
    return AtCommitted(group_id)


def parse_end(options: Mapping[str, str]) -> WantedOffsets:
    """Where a batch ends."""
    wanted = _parse("ending", options, OffsetSpec.LATEST, must_exist=False)
    if wanted is None:
        raise OptionError(f"endingOffsets={COMMITTED}: a batch ends at {LATEST}, at given offsets, or at a time")
    return wanted


def check_batch(start: WantedOffsets, end: WantedOffsets) -> None:
    """Refuse options that leave a batch nothing to read."""
    if _is_at(start, OffsetSpec.LATEST):
        raise OptionError(f"a batch cannot start at {LATEST}: it would be empty; a stream can")
    if _is_at(end, OffsetSpec.EARLIEST):
        raise OptionError(f"a batch cannot end at {EARLIEST}: it would be empty")
    if isinstance(start, AtTimes) and isinstance(end, AtTimes):
        ends = _by_partition(end.timestamps_ms)
        for partition, time_ms in _by_partition(start.timestamps_ms).items():
            if time_ms > ends.get(partition, time_ms):
                where = f" of {partition}" if partition else ""
                raise OptionError(f"{start.option}{where} is {time_ms}, after {end.option} {ends[partition]}")
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        until = dict(end.offsets)
        for partition, offset in start.offsets:
            if offset > until.get(partition, -1) >= 0:
                raise OptionError(f"{start.option} of {partition} is {offset}, after {end.option} {until[partition]}")


def check_partitions(wanted: WantedOffsets, partitions: set[TopicPartition]) -> None:
    """Refuse offsets or times unless they name exactly the partitions that are read."""
    if isinstance(wanted, AtOffsets):
        given = {partition for partition, _ in wanted.offsets}
    elif isinstance(wanted, AtTimes) and not isinstance(wanted.timestamps_ms, int):
        given = {partition for partition, _ in wanted.timestamps_ms}
    else:
        return
    if missing := partitions - given:
        raise OptionError(
            f"{wanted.option} does not name {listed(missing)}: it must name every partition that is read; "
            "in offsets -2 is the beginning and -1 the end"
        )
    if extra := given - partitions:
        raise OptionError(f"{wanted.option} names {listed(extra)}, which are not among the partitions that are read")


def _parse(kind: str, options: Mapping[str, str], default: OffsetSpec, *, must_exist: bool) -> WantedOffsets | None:
    """None is `committed`."""
    time, times, offsets = f"{kind}Timestamp", f"{kind}OffsetsByTimestamp", f"{kind}Offsets"
    if time.lower() in options:
        return AtTimes(_time_ms(time, options[time.lower()].strip()), time, must_exist)
    if times.lower() in options:
        numbers = parse_numbers(times, options[times.lower()])
        for partition, time_ms in numbers.items():
            if time_ms < 0:
                raise OptionError(f"{times}: {time_ms} of {partition} is not a time in milliseconds")
        return AtTimes(tuple(sorted(numbers.items())), times, must_exist)
    text = options.get(offsets.lower(), "").strip()
    if not text:
        return AtPlace(default)
    if text.lower() in _PLACES:
        return AtPlace(_PLACES[text.lower()])
    if text.lower() == COMMITTED:
        return None
    if not text.startswith("{"):
        choices = f"{EARLIEST}, {LATEST}" + (f", {COMMITTED}" if kind == "starting" else "")
        raise OptionError(f'{offsets}={text} is neither one of {choices} nor offsets as in {{"topic": {{"0": 23}}}}')
    numbers = parse_numbers(offsets, text)
    for partition, offset in numbers.items():
        if offset < OffsetSpec.EARLIEST:
            raise OptionError(f"{offsets}: {offset} of {partition} is not an offset; -2 is the beginning, -1 the end")
    return AtOffsets(tuple(sorted(numbers.items())), offsets)


def _time_ms(option: str, text: str) -> int:
    try:
        time_ms = parse_whole_number(text, 64)
    except ValueError as error:
        raise OptionError(f"{option}: {error}; it is a time in milliseconds since 1970") from None
    if time_ms < 0:
        raise OptionError(f"{option}={text} is not a time in milliseconds since 1970")
    return time_ms


def _is_at(wanted: WantedOffsets, spec: OffsetSpec) -> bool:
    if isinstance(wanted, AtPlace):
        return wanted.spec is spec
    return isinstance(wanted, AtOffsets) and any(offset == spec for _, offset in wanted.offsets)


def _by_partition(
    times_ms: int | tuple[tuple[TopicPartition, int], ...],
) -> dict[TopicPartition | None, int]:
    return {None: times_ms} if isinstance(times_ms, int) else dict(times_ms)
