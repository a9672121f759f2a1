"""Where to read from and to, in one word: rpk's offsets, with kcat's as synonyms.

    start, end           the first offset, or what comes from now on (beginning, earliest, oldest; latest, newest)
    N, +N, -N            offset N; N offsets after the start; N offsets before the end
    A:B, :B, A:, N-M     from A to before B, each as above; `:end` stops where the partition ends now
    @T, @T:U, @:U        from the first record at or after time T to before the first at or after U
    s@MS, e@MS           kcat's `@MS` and `@:MS`

The end of a range is an offset that is fixed when reading starts: records that arrive later are not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ottla.cli.words.moments import is_duration, parse_moment, split_moments
from ottla.cli.words.whole_numbers import int64


class Anchor(Enum):
    """What a place is counted from."""

    START = "start"
    END = "end"
    OFFSET = "offset"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in every partition: `number` offsets after the anchor, an offset, or a time in ms."""

    anchor: Anchor
    number: int = 0


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """From a place on, up to another one, or on for ever."""

    start: Place
    end: Place | None = None


@dataclass(frozen=True, slots=True)
class PartitionEnds:
    """The first offset of a partition, and the one that its next record will have."""

    earliest: int
    latest: int


START: Final = Place(Anchor.START)
END: Final = Place(Anchor.END)
FROM_START: Final = OffsetRange(START)

_WORDS: Final = {
    **dict.fromkeys(("start", "beginning", "earliest", "oldest"), START),
    **dict.fromkeys(("end", "latest", "newest"), END),
}
_WRITTEN: Final = "write start, end, N, +N, -N, A:B, :end, @TIME or @TIME:TIME"


def parse_offset_range(text: str, now_ms: int) -> OffsetRange:
    """Parse a range; the ValueError says how to write one."""
    try:
        found = _parsed(text, now_ms)
    except ValueError as error:
        raise ValueError(f"offset {text!r}: {error}") from None
    _check_order(text, found)
    return found


def _parsed(text: str, now_ms: int) -> OffsetRange:
    if text.startswith("s@"):
        return OffsetRange(Place(Anchor.TIME, parse_moment(text[2:], now_ms)))
    if text.startswith("e@"):
        return OffsetRange(START, Place(Anchor.TIME, parse_moment(text[2:], now_ms)))
    if text.startswith("@"):
        return _times(text[1:], now_ms)
    first, colon, second = text.partition(":")
    if not colon and not text.startswith(("+", "-")) and "-" in text:
        first, colon, second = text.partition("-")
    if not first and not second:
        raise ValueError(_WRITTEN)
    start = _place(first) if first else START
    return OffsetRange(start, _place(second) if second else None)


def _place(text: str) -> Place:
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] in ("+", "-") and text[1:].isdecimal():
        return Place(Anchor.START if text[0] == "+" else Anchor.END, int64(text))
    if not text.isdecimal():
        raise ValueError(_WRITTEN)
    return Place(Anchor.OFFSET, int64(text))


def _times(text: str, now_ms: int) -> OffsetRange:
    first, second = split_moments(text)
    if not first and not second:
        raise ValueError(_WRITTEN)
    start = Place(Anchor.TIME, parse_moment(first, now_ms)) if first else START
    if not second:
        return OffsetRange(start)
    if second in _WORDS:
        return OffsetRange(start, _WORDS[second])
    # As in rpk: a duration counts from the first time; one with a sign from now, if the first is one itself.
    is_from_now = not first or (second.startswith("-") and is_duration(first))
    return OffsetRange(start, Place(Anchor.TIME, parse_moment(second, now_ms, None if is_from_now else start.number)))


def _check_order(text: str, found: OffsetRange) -> None:
    end = found.end
    if end is not None and end.anchor is found.start.anchor and end.number <= found.start.number:
        raise ValueError(f"offset {text!r}: its end is not after its start, so there is nothing to read")


def offset_of(place: Place, ends: PartitionEnds, by_time: Mapping[int, int]) -> int:
    """Find the offset of a place in one partition; `by_time` has the offset of each time, negative for none."""
    if place.anchor is Anchor.OFFSET:
        return min(max(place.number, ends.earliest), ends.latest)
    if place.anchor is Anchor.TIME:
        found = by_time[place.number]
        return found if found >= 0 else ends.latest
    if place.anchor is Anchor.START:
        return min(ends.earliest + place.number, ends.latest)
    return max(ends.latest + place.number, ends.earliest)
