"""Records out of bytes: lines with or without keys, JSON lines, or a format string.

Bytes come in pieces of any size (`feed`), and each record comes out as soon as it is whole. What remains at the end of
the input is a record too, where a delimiter is all that it lacks.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.cli.data.record_io.input_formats import Incomplete, InputFormat
from ottla.cli.data.record_io.json_records import InputRecord, record_of_json

if TYPE_CHECKING:
    from ottla.protocol.records import Headers

# One record; a stream without any delimiter must not fill the memory.
RECORD_BYTES_MAX = 1 << 27


class BadInput(ValueError):
    """Input that is not a record; the message says which, counted from 1."""


class RecordInput:
    """Splits what it is fed into records."""

    def __init__(self) -> None:
        self.count = 0
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[InputRecord]:
        """The records that are whole now."""
        self._rest += data
        yield from self._whole_records()
        if len(self._rest) > RECORD_BYTES_MAX:
            raise BadInput(f"record {self.count + 1} is longer than {RECORD_BYTES_MAX} bytes: is the delimiter right?")

    def end(self) -> Iterator[InputRecord]:
        """The last record, if there is one without a delimiter."""
        raise NotImplementedError

    def _whole_records(self) -> Iterator[InputRecord]:
        raise NotImplementedError

    def _bad(self, error: ValueError) -> BadInput:
        return BadInput(f"record {self.count}: {error}")


class DelimitedInput(RecordInput):
    """Records between delimiters."""

    def __init__(self, delimiter: bytes = b"\n") -> None:
        super().__init__()
        if not delimiter:
            raise ValueError("records need a delimiter of at least one character")
        self._delimiter = delimiter

    def _whole_records(self) -> Iterator[InputRecord]:
        *lines, self._rest = self._rest.split(self._delimiter)
        for line in lines:
            yield self._counted(line)

    def end(self) -> Iterator[InputRecord]:
        if self._rest:
            line, self._rest = self._rest, b""
            yield self._counted(line)

    def _counted(self, line: bytes) -> InputRecord:
        self.count += 1
        try:
            return self._record(line)
        except ValueError as error:
            raise self._bad(error) from None

    def _record(self, line: bytes) -> InputRecord:
        raise NotImplementedError


class LineInput(DelimitedInput):
    """Values, perhaps with keys in front of them; see `--help` of produce."""

    def __init__(
        self,
        delimiter: bytes = b"\n",
        key_delimiter: bytes | None = None,
        key: bytes | None = None,
        headers: "Headers" = (),
        *,
        empty_is_null: bool = False,
    ) -> None:
        super().__init__(delimiter)
        self._key_delimiter = key_delimiter
        self._key = key
        self._headers = headers
        self._empty_is_null = empty_is_null

    def _record(self, line: bytes) -> InputRecord:
        key, value = self._key, line
        if self._key_delimiter is not None and self._key_delimiter in line:
            key, _, value = line.partition(self._key_delimiter)
        return self.record(value, key)

    def record(self, value: bytes, key: bytes | None) -> InputRecord:
        """A record with the headers of all."""
        if self._empty_is_null:
            return InputRecord(value or None, key or None, self._headers)
        return InputRecord(value, key, self._headers)

    def whole(self, value: bytes) -> InputRecord:
        """All bytes as one record."""
        self.count += 1
        return self.record(value, self._key)


class JsonInput(DelimitedInput):
    """What `consume -o jsonl` writes. Keys and values that are JSON are to be encoded."""

    def __init__(self, *, key_is_json: bool = False, value_is_json: bool = False) -> None:
        super().__init__()
        self._key_is_json = key_is_json
        self._value_is_json = value_is_json

    def _record(self, line: bytes) -> InputRecord:
        return record_of_json(line, key_is_json=self._key_is_json, value_is_json=self._value_is_json)

    def _whole_records(self) -> Iterator[InputRecord]:
        *lines, self._rest = self._rest.split(self._delimiter)
        for line in lines:
            if line.strip():
                yield self._counted(line)


class FormattedInput(RecordInput):
    """By a format string; texts as {hex} and numbers as bytes are possible."""

    def __init__(self, form: InputFormat) -> None:
        super().__init__()
        self._form = form

    def _whole_records(self) -> Iterator[InputRecord]:
        at = 0
        while at < len(self._rest):
            try:
                record, at = self._form.read(self._rest, at)
            except Incomplete:
                break
            except ValueError as error:
                self.count += 1
                raise self._bad(error) from None
            self.count += 1
            yield record
        self._rest = self._rest[at:]

    def end(self) -> Iterator[InputRecord]:
        # A file's last line may lack its newline.
        if self._rest:
            rest, self._rest = self._rest, b""
            try:
                record, at = self._form.read(rest + b"\n", 0)
            except (Incomplete, ValueError):
                at = 0
            if at <= len(rest):
                raise BadInput(f"the input ends in the middle of record {self.count + 1}")
            self.count += 1
            yield record
