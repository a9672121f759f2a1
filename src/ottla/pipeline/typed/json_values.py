"""What JSON has no words for: times, bytes and long numbers, as RFC 3339 and Protobuf's JSON mapping have them.

Texts become what Arrow takes for a cell, and cells become texts. What does not fit raises ValueError on the way in and
UnwritableValue on the way out.
"""

from __future__ import annotations

import base64
import json
import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from pyspark.sql.types import DataType, StringType

from ottla.pipeline.typed.column_kinds import Plain
from ottla.schemas.errors import UnwritableValue

# Finer than a microsecond is nothing in Spark.
_NANOSECONDS: Final = re.compile(r"(\.\d{6})\d+")
_SECONDS: Final = re.compile(r"(-?)(\d+)(?:\.(\d{1,9}))?s")


def text_kind() -> Plain:
    """Any value as JSON text, for what has no type in Spark."""
    return Plain(StringType(), write_json, read_json)


def write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_json(cell: Any) -> object:
    try:
        return json.loads(cell)
    except (TypeError, ValueError) as error:
        raise UnwritableValue(f"{cell!r} is no JSON text, which this column has: {error}") from None


def read_instant(text: Any) -> datetime:
    """RFC 3339, which always says where a clock is."""
    found = datetime.fromisoformat(_NANOSECONDS.sub(r"\1", text))
    if found.tzinfo is None or "T" not in text.upper():
        raise ValueError(f"{text!r} is no point in time: write it as 2026-01-31T12:00:00Z")
    return found


def write_instant(cell: Any) -> str:
    if not isinstance(cell, datetime) or cell.tzinfo is None:
        raise UnwritableValue(f"{cell!r} is no point in time: cast it to timestamp")
    return cell.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_date(text: Any) -> date:
    return date.fromisoformat(text)


def write_date(cell: Any) -> str:
    if not isinstance(cell, date) or isinstance(cell, datetime):
        raise UnwritableValue(f"{cell!r} is no date: cast it to date")
    return cell.isoformat()


def read_seconds(text: Any) -> timedelta:
    found = _SECONDS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number of seconds: it is written as 1.5s")
    sign, whole, fraction = found.groups()
    micros = int(whole) * 1_000_000 + int((fraction or "").ljust(6, "0")[:6])
    return timedelta(microseconds=-micros if sign else micros)


def write_seconds(cell: Any) -> str:
    if not isinstance(cell, timedelta):
        raise UnwritableValue(f"{cell!r} is no span of time: cast it to interval day to second")
    micros = cell // timedelta(microseconds=1)
    whole, fraction = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{whole}.{fraction:06d}s"


def read_whole(value: Any) -> int:
    """1.0 is a whole number, too."""
    number = int(value)
    if number != value:
        raise ValueError(f"{value!r} is no whole number")
    return number


def number_kind(spark_type: DataType) -> Plain:
    """Of numbers that JSON may have as texts."""
    return Plain(spark_type, int, _to_int)


def _to_int(cell: Any) -> int:
    try:
        return read_whole(cell)
    except (TypeError, ValueError):
        raise UnwritableValue(f"{cell!r} is no whole number") from None


def float_kind(spark_type: DataType) -> Plain:
    """Of numbers that are texts in JSON if they are not finite."""
    return Plain(spark_type, float, _to_float)


def _to_float(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return "NaN" if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity"
    return cell


def read_bytes(text: Any) -> bytes:
    return base64.b64decode(text)
