"""What commands print: rows, as a table for people or as JSON for programs.

The JSON is part of the interface: the names of the columns are its keys, values keep their types, and a column is never
left out. A table shows the same columns: an empty value is `-`, lists are joined by commas, points in time are dates in
UTC, and what is not printable is escaped.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, TextIO


class OutputFormat(Enum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


Row = Mapping[str, object]

# Columns that are points in time, in ms since 1970, and their headings in tables.
_MOMENTS: Final = {"start_ms": "START", "last_timestamp_ms": "LAST-TIMESTAMP"}


def print_rows(
    output_format: OutputFormat,
    columns: Sequence[str],
    rows: Iterable[Row],
    stream: TextIO | None = None,
    *,
    errors: Mapping[str, object] | None = None,
) -> None:
    """Write rows, each with a value for every column.

    If there are none because of `errors`, which are reported elsewhere, no table is printed, not even its header.
    """
    out = stream or sys.stdout
    listed = [{column: row[column] for column in columns} for row in rows]
    if output_format is OutputFormat.JSON:
        print(json.dumps(listed, indent=2, ensure_ascii=False), file=out)
    elif output_format is OutputFormat.JSONL:
        for row in listed:
            print(json.dumps(row, ensure_ascii=False), file=out)
    elif listed or not any((errors or {}).values()):
        _print_table(columns, listed, out)


def print_object(output_format: OutputFormat, shown: Row, stream: TextIO | None = None) -> None:
    """Write one thing: a line for each of its properties, or one JSON object."""
    out = stream or sys.stdout
    if output_format is OutputFormat.TABLE:
        width = max(map(len, shown), default=0)
        for name, value in shown.items():
            print(f"{name:<{width}}  {_cell(value)}", file=out)
    else:
        indent = 2 if output_format is OutputFormat.JSON else None
        print(json.dumps(shown, indent=indent, ensure_ascii=False), file=out)


def _print_table(columns: Sequence[str], rows: Sequence[Row], out: TextIO) -> None:
    header = [_MOMENTS.get(column) or column.upper().replace("_", "-") for column in columns]
    rows = [{column: _dated(column, row[column]) for column in columns} for row in rows]
    lines = [header, *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    numeric = [_is_numeric([row[column] for row in rows]) for column in columns]
    for line in lines:
        cells = (
            cell.rjust(width) if is_numeric else cell.ljust(width)
            for cell, width, is_numeric in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(cells).rstrip(), file=out)


def _dated(column: str, value: object) -> object:
    if column not in _MOMENTS or not isinstance(value, int):
        return value
    from ottla.cli.words.moments import ms_to_iso

    return ms_to_iso(value)


def _is_numeric(values: Sequence[object]) -> bool:
    numbers = [value for value in values if value is not None]
    return bool(numbers) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers)


def _cell(value: object) -> str:
    if value is None or value in ("", [], ()):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return _printable(",".join(map(str, value)))
    if isinstance(value, Mapping):
        return _printable(",".join(f"{key}={item}" for key, item in value.items()))
    return _printable(str(value))


def _printable(text: str) -> str:
    """Escape text: a group name or client id may be anything, but must not break a line or control a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
