"""Lines into records as Apache's console producer reads them: `headers<delimiter>key<separator>value`.

    parse.key, parse.headers     whether a line has them (false)
    key.separator                between key and value (a tab)
    headers.delimiter            after the headers (a tab)
    headers.separator            between two headers (,)
    headers.key.separator        between a header's name and its value (:)
    null.marker                  a field that equals it is null
    ignore.error                 what lacks a separator is a value by itself (false)

An empty line is an empty record.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.cli.data.record_io.json_records import InputRecord


class UnreadableLine(ValueError):
    """A line lacks something; the message is Apache's."""


@dataclass(frozen=True, slots=True)
class LineReader:
    """See the module."""

    parses_key: bool = False
    parses_headers: bool = False
    key_separator: bytes = b"\t"
    headers_delimiter: bytes = b"\t"
    headers_separator: bytes = b","
    header_key_separator: bytes = b":"
    null_marker: bytes | None = None
    ignores_errors: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "LineReader":
        """A reader as the properties want it; ValueError if they contradict each other."""

        def text(name: str, default: str) -> bytes:
            return properties.get(name, default).encode(errors="surrogateescape")

        def flag(name: str) -> bool:
            return properties.get(name, "false").strip().lower() == "true"

        reader = cls(
            flag("parse.key"),
            flag("parse.headers"),
            text("key.separator", "\t"),
            text("headers.delimiter", "\t"),
            text("headers.separator", ","),
            text("headers.key.separator", ":"),
            text("null.marker", "") if "null.marker" in properties else None,
            flag("ignore.error"),
        )
        reader._check()
        return reader

    def _check(self) -> None:
        separators = {
            "headers.delimiter": self.headers_delimiter,
            "headers.separator": self.headers_separator,
            "headers.key.separator": self.header_key_separator,
        }
        names = list(separators)
        for index, name in enumerate(names):
            for other in names[index + 1 :]:
                if separators[name] == separators[other]:
                    raise UnreadableLine(f"{name} and {other} may not be equal")
        if self.null_marker is not None:
            separators["key.separator"] = self.key_separator
            for name, separator in separators.items():
                if separator == self.null_marker:
                    raise UnreadableLine(f"null.marker and {name} may not be equal")

    def read(self, line: bytes, number: int) -> InputRecord:
        """The record of a line; `number` counts from 1."""
        headers: tuple[tuple[str, bytes | None], ...] = ()
        key: bytes | None = None
        rest = line
        if self.parses_headers:
            text, rest = self._split(rest, self.headers_delimiter, "headers delimiter", number)
            headers = () if text is None else self._headers(text, number)
        if self.parses_key:
            key, rest = self._split(rest, self.key_separator, "key separator", number)
        return InputRecord(self._or_null(rest), self._or_null(key), headers)

    def _split(self, text: bytes, separator: bytes, name: str, number: int) -> tuple[bytes | None, bytes]:
        first, found, rest = text.partition(separator)
        if found:
            return first, rest
        if self.ignores_errors:
            return None, text
        shown = text.decode(errors="replace")
        raise UnreadableLine(f"No {name} found on line number {number}: '{shown}'")

    def _headers(self, text: bytes, number: int) -> tuple[tuple[str, bytes | None], ...]:
        if self.null_marker is not None and text == self.null_marker:
            return ()
        found = []
        for pair in text.split(self.headers_separator):
            name, separator, value = pair.partition(self.header_key_separator)
            if not separator and not self.ignores_errors:
                shown = pair.decode(errors="replace")
                raise UnreadableLine(f"No header key separator found in pair '{shown}' on line number {number}")
            if name == self.null_marker:
                raise UnreadableLine(f"Header keys should not be equal to the null marker '{name.decode()}'")
            found.append((name.decode(errors="replace"), self._or_null(value) if separator else None))
        return tuple(found)

    def _or_null(self, field: bytes | None) -> bytes | None:
        return None if field == self.null_marker else field
