import pytest

from ottla.cli.data.record_io import record_input
from ottla.cli.data.record_io.input_formats import InputFormat
from ottla.cli.data.record_io.json_records import InputRecord
from ottla.cli.data.record_io.record_input import BadInput, FormattedInput, JsonInput, LineInput, RecordInput


def fed(source: RecordInput, *pieces: bytes) -> list[InputRecord]:
    found = [record for piece in pieces for record in source.feed(piece)]
    return [*found, *source.end()]


def test_lines_are_records_however_they_arrive() -> None:
    assert [record.value for record in fed(LineInput(), b"a\nb", b"c\n", b"\nd")] == [b"a", b"bc", b"", b"d"]


def test_keys_stand_before_a_delimiter() -> None:
    source = LineInput(key_delimiter=b"=>", key=b"default")
    assert [(one.key, one.value) for one in fed(source, b"a=>1=>2\nno key\n=>x\n")] == [
        (b"a", b"1=>2"),
        (b"default", b"no key"),
        (b"", b"x"),
    ]


def test_what_is_empty_may_be_null() -> None:
    source = LineInput(key_delimiter=b":", empty_is_null=True, headers=(("h", b"1"),))
    assert fed(source, b"k:\n:v\n") == [
        InputRecord(None, b"k", (("h", b"1"),)),
        InputRecord(b"v", None, (("h", b"1"),)),
    ]


def test_a_delimiter_may_be_any_text() -> None:
    assert [one.value for one in fed(LineInput(b"--"), b"a\nb-", b"-c")] == [b"a\nb", b"c"]
    with pytest.raises(ValueError, match="delimiter"):
        LineInput(b"")


def test_json_lines_may_have_blank_ones_between_them() -> None:
    assert [one.value for one in fed(JsonInput(), b'{"value": "a"}\n\n', b'{"value": "b"}')] == [b"a", b"b"]


def test_a_bad_record_is_counted_from_one() -> None:
    with pytest.raises(BadInput, match="record 2: not JSON"):
        fed(JsonInput(), b'{"value": "a"}\n{\n')


def test_formatted_records_are_taken_as_they_become_whole() -> None:
    source = FormattedInput(InputFormat("%V{big16}%v"))
    assert [one.value for one in source.feed(b"\0\1a\0")] == [b"a"]
    assert [one.value for one in source.feed(b"\2bc")] == [b"bc"]
    assert list(source.end()) == []


def test_the_last_line_may_lack_its_newline_but_not_more() -> None:
    assert [one.value for one in fed(FormattedInput(InputFormat(r"%k %v\n")), b"a 1\nb 2")] == [b"1", b"2"]
    with pytest.raises(BadInput, match="middle of record 2"):
        fed(FormattedInput(InputFormat(r"%k %v\n")), b"a 1\nb")


def test_a_record_without_end_is_not_collected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_input, "RECORD_BYTES_MAX", 10)
    with pytest.raises(BadInput, match="record 1 is longer than 10 bytes"):
        fed(LineInput(), b"x" * 11)
