"""Points in time as people write them: milliseconds, dates, distances from now."""

import re
from datetime import UTC, datetime
from typing import Final

from ottla.cli.exits import UsageError

_UNIT_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DISTANCE: Final = re.compile(r"-((?:\d+(?:ms|[smhdw]))+)")
_PART: Final = re.compile(r"(\d+)(ms|[smhdw])")
_ISO_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(?:(T)(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)


def parse_moment(text: str, now_ms: int) -> int:
    """Milliseconds since 1970 from `now`, `-15m`, `-1h30m`, milliseconds, or an ISO date or date and time (UTC)."""
    if text == "now":
        return now_ms
    if match := _DISTANCE.fullmatch(text):
        return now_ms - sum(int(count) * _UNIT_MS[unit] for count, unit in _PART.findall(match[1]))
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return iso_to_ms(text)
    except ValueError:
        raise UsageError(
            f"{text} is no point in time.",
            remedy="Write -15m, -2h, -1d, now, milliseconds since 1970, or a date such as 2026-01-31T12:00:00Z.",
        ) from None


def iso_to_ms(text: str) -> int:
    """Milliseconds since 1970 of an ISO 8601 date and time; UTC where it names no zone. ValueError if it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def iso_duration_to_ms(text: str) -> int:
    """The length of an ISO 8601 duration in days and less, as in P1DT2H; ValueError if it is none."""
    match = _ISO_DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as P1DT2H")
    sign, days, time, hours, minutes, seconds, fraction = match.groups()
    given = [days, hours, minutes, seconds]
    if all(part is None for part in given) or (time and all(part is None for part in given[1:])):
        raise ValueError(f"{text!r} names no amount of time")
    whole = [int(part or 0) for part in given]
    total_ms = whole[0] * 86_400_000 + whole[1] * 3_600_000 + whole[2] * 60_000 + whole[3] * 1000
    if fraction:
        part_ms = int(fraction.ljust(9, "0")) // 1_000_000
        total_ms += -part_ms if (seconds or "").startswith("-") else part_ms
    return -total_ms if sign == "-" else total_ms
