"""Days and times as text and as Avro's numbers. What no calendar has, stays a number.

Times count in units of which a second has 10 to the power of `digits`.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST: Final = date.max.toordinal()
_DAY_S: Final = 86_400
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")
_MOMENT: Final = re.compile(r"([^T ]+)[T ]([^Z+-]+)(Z|[+-][0-9]{2}:[0-9]{2})?")


def show_day(days: int) -> str | int:
    ordinal = days + _EPOCH
    return date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= _LAST else days


def read_day(text: str) -> int:
    """ValueError if it is no day."""
    if not _DAY.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text).toordinal() - _EPOCH


def show_time(value: int, digits: int) -> str | int:
    seconds, fraction = divmod(value, 10**digits)
    if not 0 <= seconds < _DAY_S:
        return value
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def read_time(text: str, digits: int) -> int:
    """ValueError if it is no time of a day, or has more digits than can be kept."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError
    hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3])
    fraction = (found[4] or "").rstrip("0")
    if hours > 23 or minutes > 59 or seconds > 59 or len(fraction) > digits:
        raise ValueError
    second: int = 10**digits
    return (hours * 3600 + minutes * 60 + seconds) * second + int(fraction.ljust(digits, "0"))


def show_moment(value: int, digits: int, *, is_local: bool) -> str | int:
    days, time = divmod(value, _DAY_S * 10**digits)
    day = show_day(days)
    return value if isinstance(day, int) else f"{day}T{show_time(time, digits)}{'' if is_local else 'Z'}"


def read_moment(text: str, digits: int, *, is_local: bool) -> int:
    """Without an offset it is UTC. ValueError if it is no time, or a local one that has an offset."""
    found = _MOMENT.fullmatch(text)
    if found is None or (is_local and found[3] is not None):
        raise ValueError
    second: int = 10**digits
    return (read_day(found[1]) * _DAY_S - _offset_s(found[3])) * second + read_time(found[2], digits)


def _offset_s(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError
    return (hours * 3600 + minutes * 60) * (-1 if text[0] == "-" else 1)
