import io
import json

from ottla.cli.data.record_io.format_strings import compile_format
from ottla.cli.data.record_io.record_output import (
    FormatOutput,
    HexOutput,
    JsonLinesOutput,
    JsonOutput,
    LineOutput,
    RecordOutput,
    TableOutput,
)
from unit.cli.made_records import record

RECORDS = [record(b"one", b"k"), record(None, None, offset=8), record(b"\xff", offset=9)]


def written(output: RecordOutput, *, pieces: int = 1) -> bytes:
    stream = io.BytesIO()
    output.stream = stream
    if pieces == 1:
        output.write(RECORDS)
    else:
        for each in RECORDS:
            output.write([each])
    output.end()
    return stream.getvalue()


def test_values_are_lines() -> None:
    assert written(LineOutput()) == b"one\n\n\xff\n"
    assert written(LineOutput(b"|", b"=", b"NULL")) == b"k=one|NULL=NULL|NULL=\xff|"
    assert written(LineOutput(delimiter=b"")) == b"one\xff"
    assert written(HexOutput()) == b"6f6e65\n\nff\n"


def test_a_format_counts_records() -> None:
    assert written(FormatOutput(compile_format("%i:%o "), lambda _: None), pieces=3) == b"1:7 2:8 3:9 "


def test_json_is_one_array_however_records_come() -> None:
    assert written(JsonOutput()) == written(JsonOutput(), pieces=3)
    assert [row["offset"] for row in json.loads(written(JsonOutput()))] == [7, 8, 9]
    output = JsonOutput()
    output.stream = io.BytesIO()
    output.end()
    assert json.loads(output.stream.getvalue()) == []


def test_json_lines_are_lines() -> None:
    lines = written(JsonLinesOutput()).splitlines()
    assert [json.loads(line)["value"] for line in lines] == ["one", None, {"base64": "/w=="}]


def test_a_table_has_its_head_once_and_no_control_characters() -> None:
    lines = written(TableOutput(), pieces=3).decode().splitlines()
    assert lines[0].split() == ["TOPIC", "PARTITION", "OFFSET", "TIMESTAMP-MS", "KEY", "VALUE"]
    assert [line.split()[-1] for line in lines[1:]] == ["one", "-", "base64:/w=="]
    output = TableOutput()
    assert b"\\x1b\\n" in output.rendered([record(b"\x1b\n")])
