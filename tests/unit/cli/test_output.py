import json

import pytest

from ottla.cli.output import OutputFormat, print_object, print_rows

ROWS = [
    {"topic": "a", "count": 7, "is_internal": False, "ids": [1, 2], "note": None},
    {"topic": "longer", "count": None, "is_internal": True, "ids": [], "note": None},
]
COLUMNS = ("topic", "count", "is_internal", "ids", "note")


def test_a_table_has_numbers_to_the_right_and_everything_else_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(OutputFormat.TABLE, COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC   COUNT  IS-INTERNAL  IDS  NOTE",
        "a           7  no           1,2  -",
        "longer      -  yes          -    -",
    ]


def test_json_keeps_types_and_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(OutputFormat.JSON, COLUMNS, ROWS)
    assert json.loads(capsys.readouterr().out) == ROWS
    print_rows(OutputFormat.JSONL, COLUMNS, ROWS)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS


def test_an_object_has_a_line_for_each_property(capsys: pytest.CaptureFixture[str]) -> None:
    print_object(OutputFormat.TABLE, {"id": 1, "configs": {"a": "1", "b": "2"}})
    assert capsys.readouterr().out == "id       1\nconfigs  a=1,b=2\n"


def test_a_name_that_is_not_printable_is_escaped_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(OutputFormat.TABLE, ("group",), [{"group": "\x1b[31mred"}, {"group": "new\nline"}, {"group": "žluť"}])
    assert capsys.readouterr().out == "GROUP\n\\x1b[31mred\nnew\\nline\nžluť\n"


def test_a_table_without_rows_has_a_header_unless_errors_are_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(OutputFormat.TABLE, ("topic",), [])
    print_rows(OutputFormat.TABLE, ("topic",), [], errors={"a": None})
    assert capsys.readouterr().out == "TOPIC\nTOPIC\n"
    print_rows(OutputFormat.TABLE, ("topic",), [], errors={"a": "it does not exist"})
    assert capsys.readouterr().out == ""
    print_rows(OutputFormat.TABLE, ("topic",), [{"topic": "b"}], errors={"a": "it does not exist"})
    assert capsys.readouterr().out == "TOPIC\nb\n"
    print_rows(OutputFormat.JSON, ("topic",), [], errors={"a": "it does not exist"})
    assert capsys.readouterr().out == "[]\n"


def test_a_point_in_time_is_a_date_for_people_and_a_number_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"start_ms": 1_718_000_000_007, "age_ms": 5}, {"start_ms": None, "age_ms": 6}]
    print_rows(OutputFormat.TABLE, ("start_ms", "age_ms"), rows)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["START", "AGE-MS"],
        ["2024-06-10T06:13:20.007Z", "5"],
        ["-", "6"],
    ]
    print_rows(OutputFormat.JSON, ("start_ms", "age_ms"), rows)
    assert json.loads(capsys.readouterr().out) == rows
