"""JSON that everybody can read again.

Python's own reader takes more than others do: NaN and Infinity, numbers so large that they become infinite, halves of
characters, any nesting that its stack can bear. Whatever of this got into the topic would be a record that no other
registry reads, or an answer that no client reads.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

DEPTH_MAX: Final = 100
# How halves of characters begin, which JSON can write though no text can have them.
_SURROGATE: Final = "\\ud"


def read_json(data: bytes) -> Any:
    """ValueError says what is wrong."""
    text = data.decode("utf-8-sig")
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEPTH_MAX and _is_deeper(value, DEPTH_MAX):
        raise ValueError(_TOO_DEEP)
    if _SURROGATE in text.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise ValueError(f"{half} is half of a character; write both halves") from None
    return value


def write_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


_TOO_DEEP: Final = f"nested deeper than {DEPTH_MAX} levels"


def _is_deeper(value: Any, levels: int) -> bool:
    level = [value]
    for _ in range(levels + 1):
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return False
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number in JSON")


_DECODER: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)
