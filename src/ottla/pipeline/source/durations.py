"""Durations as Spark's options write them: `15m`, `100ms`, `2h`; without a unit they are milliseconds."""

import re
from typing import Final

from ottla.pipeline.errors import OptionError

_UNITS_US: Final = {
    "us": 1,
    "ms": 1000,
    "": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


def parse_duration_ms(option: str, text: str) -> int:
    """A duration in milliseconds; OptionError if it is none."""
    found = re.fullmatch(r"([0-9]+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS_US:
        raise OptionError(f"{option}={text} is not a duration such as 500ms, 30s, 15m or 2h")
    return int(found[1]) * _UNITS_US[found[2]] // 1000
