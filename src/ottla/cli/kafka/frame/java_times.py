"""Times and durations as Apache's tools take them: ISO 8601, as Java reads it."""

import re
from typing import Final

from ottla.cli.exits import CommandError
from ottla.cli.words.moments import iso_to_ms

_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(?:(T)(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


def datetime_ms(text: str) -> int:
    """A date and time in ms since 1970; UTC where it names no zone."""
    if "T" not in text:
        raise CommandError(f"Error parsing timestamp {text}. It does not contain a 'T' according to ISO8601 format")
    try:
        return iso_to_ms(text)
    except ValueError as error:
        raise CommandError(f"{text} is not a date and time such as 2026-01-31T12:00:00.000") from error


def duration_ms(text: str) -> int:
    """The length of a duration in days and less, as in P1DT2H."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise CommandError(f"Text cannot be parsed to a Duration: {text!r} is not one such as P1DT2H")
    sign, days, time, hours, minutes, seconds, fraction = match.groups()
    given = [days, hours, minutes, seconds]
    if all(part is None for part in given) or (time and all(part is None for part in given[1:])):
        raise CommandError(f"Text cannot be parsed to a Duration: {text!r} names no amount of time")
    whole = [int(part or 0) for part in given]
    total_ms = whole[0] * 86_400_000 + whole[1] * 3_600_000 + whole[2] * 60_000 + whole[3] * 1000
    if fraction:
        part_ms = int(fraction.ljust(9, "0")) // 1_000_000
        total_ms += -part_ms if (seconds or "").startswith("-") else part_ms
    return -total_ms if sign == "-" else total_ms
