import pytest

from ottla.cli.data.record_io.json_records import InputRecord
from ottla.cli.kafka.console.line_reader import LineReader, UnreadableLine

BOTH = {"parse.key": "true", "parse.headers": "TRUE"}


def read(line: bytes, properties: dict[str, str]) -> InputRecord:
    return LineReader.from_properties(properties).read(line, 1)


def test_a_line_is_a_value() -> None:
    assert read(b"a\tb", {}) == InputRecord(b"a\tb")
    assert read(b"", {}) == InputRecord(b"")


def test_headers_and_key_stand_before_the_value() -> None:
    assert read(b"h1:v1,h2:\tk\tv\tw", BOTH) == InputRecord(b"v\tw", b"k", (("h1", b"v1"), ("h2", b"")))


def test_separators_can_be_chosen() -> None:
    own = {
        **BOTH,
        "key.separator": "=>",
        "headers.delimiter": "|",
        "headers.separator": ";",
        "headers.key.separator": "/",
    }
    assert read(b"a/1;b/2|k=>v", own) == InputRecord(b"v", b"k", (("a", b"1"), ("b", b"2")))


def test_a_marker_is_null_wherever_it_stands_alone() -> None:
    marked = {**BOTH, "null.marker": "NIL"}
    assert read(b"h:NIL\tNIL\tNIL", marked) == InputRecord(None, None, (("h", None),))
    assert read(b"NIL\tk\tNILS", marked) == InputRecord(b"NILS", b"k")


@pytest.mark.parametrize(
    ("line", "properties", "why"),
    [
        (b"nokey", {"parse.key": "true"}, "No key separator found on line number 1: 'nokey'"),
        (b"x", {"parse.headers": "true"}, "No headers delimiter found on line number 1: 'x'"),
        (b"h\tv", {"parse.headers": "true"}, "No header key separator found in pair 'h' on line number 1"),
        (b"N:1\tv", {"parse.headers": "true", "null.marker": "N"}, "null marker 'N'"),
        (b"", {"headers.separator": ":"}, "headers.separator and headers.key.separator may not be equal"),
        (b"", {"null.marker": "\t"}, "null.marker and headers.delimiter may not be equal"),
    ],
)
def test_what_a_line_lacks_is_told_in_apaches_words(line: bytes, properties: dict[str, str], why: str) -> None:
    with pytest.raises(UnreadableLine, match=why):
        read(line, properties)


def test_errors_can_be_ignored() -> None:
    ignoring = {**BOTH, "ignore.error": "true"}
    assert read(b"x", ignoring) == InputRecord(b"x")
    assert read(b"h\tk\tv", ignoring) == InputRecord(b"v", b"k", (("h", None),))
