"""Points in time as people write them on a command line, in ms since 1970: one grammar, rpk's, for every command.

1718000000000              ms (eleven digits or more)
1718000000                 seconds (ten digits or fewer)
2024-06-10                 a day, UTC
2024-06-10T06:13:20[.5]Z   RFC 3339; an offset as in +02:00 may stand in place of the Z, and without either it is UTC
now                        now
-15m, -1d12h               so long ago: units w, d, h, m, s, ms
1h30m                      so long after another time, where there is one
"""

import re
from datetime import UTC, datetime
from typing import Final

from ottla.cli.exits import UsageError

_UNITS_MS: Final = {
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "hr": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
_DURATION: Final = re.compile(r"([+-]?)((?:\d+(?:\.\d+)?(?:ms|hr|[wdhms]))+)", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|hr|[wdhms])", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)
_SECONDS_DIGITS_MAX: Final = 10
# The end of the year 9999, where ISO 8601 ends as well.
_LAST_MS: Final = 253_402_300_799_999

WRITTEN: Final = (
    "write 2026-01-31, 2026-01-31T12:00:00Z, now, -15m, or seconds (up to ten digits) or ms (more digits) since 1970"
)


def is_duration(text: str) -> bool:
    """Whether the text is relative to another time."""
    return _DURATION.fullmatch(text) is not None


def parse_duration_ms(text: str) -> int:
    """Parse a duration such as 15m or 1h30m; the ValueError says how to write one."""
    found = _DURATION.fullmatch(text)
    if found is None or found[1]:
        raise ValueError(f"{text!r} is not a length of time: write 90s, 15m, 1h30m or 500ms")
    total_ms = _duration_ms(found)
    if total_ms > _LAST_MS:
        raise ValueError(f"{text!r} is longer than the time from 1970 to 9999")
    return total_ms


def parse_duration_option(option: str, text: str) -> int:
    """Parse the duration that an option is given, in ms."""
    try:
        return parse_duration_ms(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from None


def parse_moment(text: str, now_ms: int, since_ms: int | None = None) -> int:
    """Parse a time; durations count from `since_ms`, or back from now. The ValueError says how to write one."""
    moment_ms = _moment(text, now_ms, since_ms)
    if moment_ms > _LAST_MS:
        raise ValueError(f"{text!r} is not a time: it lies beyond the year 9999; {WRITTEN}")
    # Before 1970 there are no records, and requests have other meanings for negative numbers.
    return max(0, moment_ms)


def _moment(text: str, now_ms: int, since_ms: int | None) -> int:
    if text == "now":
        return now_ms
    if text.isascii() and text.isdecimal():
        return int(text) * (1_000 if len(text) <= _SECONDS_DIGITS_MAX else 1)
    if found := _DURATION.fullmatch(text):
        if since_ms is None and found[1] != "-":
            raise ValueError(f"{text!r} is not a time: write -{text.lstrip('+')} for so long ago")
        return (now_ms if since_ms is None else since_ms) + _duration_ms(found)
    if _TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a time: {WRITTEN}")
    try:
        return iso_to_ms(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}; {WRITTEN}") from None


def _duration_ms(found: re.Match[str]) -> int:
    total_ms = sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(found[2]))
    # Anything longer is beyond every valid time, and may be infinite as a float.
    total_ms = min(total_ms, _LAST_MS + 1)
    return round(-total_ms if found[1] == "-" else total_ms)


def iso_to_ms(text: str) -> int:
    """Parse an ISO 8601 date and time into ms since 1970; UTC unless it names a zone. ValueError if it is invalid."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000)


def ms_to_iso(moment_ms: int) -> str:
    """Write a time as this grammar reads it, in UTC; one beyond the calendar stays a number."""
    try:
        moment = datetime.fromtimestamp(moment_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(moment_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment_ms % 1000:03}Z"


def split_moments(text: str) -> tuple[str, str | None]:
    """Split `t1:t2` into its halves, either of which may contain colons."""
    for pattern in (_TIME, _DURATION):
        found = pattern.match(text)
        if found is not None and text[found.end() :].startswith(":"):
            return found[0], text[found.end() + 1 :]
    first, colon, second = text.partition(":")
    if _TIME.fullmatch(text) is not None or not colon:
        return text, None
    return first, second
