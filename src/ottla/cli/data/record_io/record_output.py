"""Records on stdout: as lines, by a format, as JSON, as a table.

Output is written for each group of records that came together, so a live tail is shown at once and a long one is not
written line by line.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from ottla.cli.data.record_io.format_strings import Part, Shown
from ottla.cli.data.record_io.json_records import json_of, json_text

if TYPE_CHECKING:
    from ottla.cli.data.record_io.record_decoding import RecordDecoding
    from ottla.client import Record
    from ottla.client.consumer import PartitionBounds

    RowOf = Callable[[Record], dict[str, object]]

BoundsOf = Callable[["Record"], "PartitionBounds | None"]

_TABLE_COLUMNS: Final = ("topic", "partition", "offset", "timestamp_ms", "key", "value")
# A cell that is longer pushes the ones after it to the right, in its line alone.
_CELL_WIDTH_MAX: Final = 40


class RecordOutput:
    """Where records go; `write` is called with those that came together, `end` once."""

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self.stream: BinaryIO = stream or sys.stdout.buffer

    def write(self, records: Sequence["Record"]) -> None:
        self.stream.write(self.rendered(records))
        self.stream.flush()

    def rendered(self, records: Sequence["Record"]) -> bytes:
        raise NotImplementedError

    def end(self) -> None:
        """All records were written."""


class DecodedOutput(RecordOutput):
    """Writes JSON in place of keys and values of a registry's schemas, as another output does."""

    def __init__(self, output: RecordOutput, decoding: "RecordDecoding") -> None:
        super().__init__(output.stream)
        self._output = output
        self._decoding = decoding

    def rendered(self, records: Sequence["Record"]) -> bytes:
        return self._output.rendered([self._decoding.as_text(record) for record in records])


class LineOutput(RecordOutput):
    """The value, perhaps with its key in front, and a delimiter after it."""

    def __init__(self, delimiter: bytes = b"\n", key_delimiter: bytes | None = None, null: bytes = b"") -> None:
        super().__init__()
        self._delimiter = delimiter
        self._key_delimiter = key_delimiter
        self._null = null

    def rendered(self, records: Sequence["Record"]) -> bytes:
        null, delimiter, between = self._null, self._delimiter, self._key_delimiter
        if between is None:
            parts = [null if record.value is None else record.value for record in records]
        else:
            parts = [
                (null if record.key is None else record.key)
                + between
                + (null if record.value is None else record.value)
                for record in records
            ]
        return delimiter.join(parts) + delimiter


class HexOutput(RecordOutput):
    """A line of hexadecimal digits for each value."""

    def rendered(self, records: Sequence["Record"]) -> bytes:
        return b"".join([(record.value or b"").hex().encode() + b"\n" for record in records])


class FormatOutput(RecordOutput):
    """By a format string."""

    def __init__(self, part: Part, bounds_of: BoundsOf) -> None:
        super().__init__()
        self._part = part
        self._bounds_of = bounds_of
        self._count = 0

    def rendered(self, records: Sequence["Record"]) -> bytes:
        parts = []
        for record in records:
            self._count += 1
            parts.append(self._part(Shown(record, self._count, self._bounds_of(record))))
        return b"".join(parts)


class RowOutput(RecordOutput):
    """By what JSON says of a record."""

    def __init__(self, row_of: "RowOf" = json_of) -> None:
        super().__init__()
        self._row_of = row_of


class JsonLinesOutput(RowOutput):
    """One JSON object on each line."""

    def rendered(self, records: Sequence["Record"]) -> bytes:
        return b"".join([json_text(self._row_of(record)) + b"\n" for record in records])


class JsonOutput(RowOutput):
    """One JSON array, which is whole once reading has ended."""

    def __init__(self, row_of: "RowOf" = json_of) -> None:
        super().__init__(row_of)
        self._lead = b"[\n"

    def rendered(self, records: Sequence["Record"]) -> bytes:
        parts: list[bytes] = []
        for record in records:
            parts += (self._lead, json_text(self._row_of(record), indent=2))
            self._lead = b",\n"
        return b"".join(parts)

    def end(self) -> None:
        self.stream.write(b"[]\n" if self._lead == b"[\n" else b"\n]\n")
        self.stream.flush()


class TableOutput(RecordOutput):
    """Columns as wide as the first records want them."""

    def __init__(self) -> None:
        super().__init__()
        self._widths: list[int] = []

    def rendered(self, records: Sequence["Record"]) -> bytes:
        lines = [[_cell(row[column]) for column in _TABLE_COLUMNS] for row in map(json_of, records)]
        if not self._widths:
            lines.insert(0, [column.upper().replace("_", "-") for column in _TABLE_COLUMNS])
            widest = (max(len(line[index]) for line in lines) for index in range(len(_TABLE_COLUMNS)))
            self._widths = [min(width, _CELL_WIDTH_MAX) for width in widest]
        padded = ("  ".join(map(str.ljust, line, self._widths)).rstrip() for line in lines)
        return "".join(f"{line}\n" for line in padded).encode()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return f"base64:{value['base64']}"
    # What moves the cursor would tear the table.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
