"""Lengths of time as options say them: 90s, 15m, 1h30m."""

from ottla.cli.exits import UsageError
from ottla.cli.words.moments import parse_duration_ms


def duration_ms(option: str, text: str) -> int:
    """The length of time that an option says."""
    try:
        return parse_duration_ms(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from None
