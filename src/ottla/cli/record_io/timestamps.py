"""Points in time as people write them on a command line, in ms since 1970.

1718000000000              ms (eleven digits or more)
1718000000                 seconds (ten digits or fewer)
2024-06-10                 a day, UTC
2024-06-10T06:13:20[.5]Z   RFC 3339; an offset as in +02:00 may stand in place of the Z
now                        now
-15m, 1h30m                a duration before or after some other time: units d, h, m, s, ms
"""

import re
from datetime import UTC, datetime
from typing import Final

_UNITS_MS: Final = {"d": 86_400_000, "h": 3_600_000, "hr": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_DURATION: Final = re.compile(r"([+-]?)((?:\d+(?:\.\d+)?(?:ms|hr|[dhms]))+)")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|hr|[dhms])")
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?")
_SECONDS_DIGITS_MAX: Final = 10

WRITTEN: Final = "write ms or seconds since 1970, 2024-06-10, 2024-06-10T06:13:20Z, now, or a duration such as -15m"


def is_duration(text: str) -> bool:
    """Whether the text is relative to another time."""
    return _DURATION.fullmatch(text) is not None


def parse_duration_ms(text: str) -> int:
    """A duration; ValueError says how one is written."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write it as in 90s, 1h30m or 250ms")
    total_ms = sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(found[2]))
    return round(-total_ms if found[1] == "-" else total_ms)


def parse_time_ms(text: str, base_ms: int) -> int:
    """A time; durations count from `base_ms`."""
    if text == "now":
        return base_ms
    if text.isdecimal():
        return int(text) * (1_000 if len(text) <= _SECONDS_DIGITS_MAX else 1)
    if is_duration(text):
        return base_ms + parse_duration_ms(text)
    if _TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a time: {WRITTEN}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}; {WRITTEN}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000)


def split_times(text: str) -> tuple[str, str | None]:
    """The two halves of `t1:t2`, of which either may hold colons of its own."""
    for pattern in (_TIME, _DURATION):
        found = pattern.match(text)
        if found is not None and text[found.end() :].startswith(":"):
            return found[0], text[found.end() + 1 :]
    first, colon, second = text.partition(":")
    if _TIME.fullmatch(text) is not None or not colon:
        return text, None
    return first, second
