"""Confluent's rules: what each finds, and what it lets pass."""

import pytest

from ottla.schemas.finding import Finding
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat

PROTO3 = 'syntax = "proto3"; package a; '


def findings(
    writer: str,
    reader: str,
    writer_references: dict[str, str] | None = None,
    reader_references: dict[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Rules and paths."""
    written = ProtobufFormat().parse(writer, writer_references or {})
    read = ProtobufFormat().parse(reader, reader_references or {})
    return [(finding.rule, finding.path) for finding in read.compare(written)]


def body(fields: str, rest: str = "") -> str:
    return f"{PROTO3} message M {{ {fields} }} {rest}"


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        (PROTO3 + "message M {}", 'syntax = "proto3"; package b; message M {}', [("PACKAGE_CHANGED", "#/")]),
        (PROTO3 + "message M {} message N {}", PROTO3 + "message M {}", [("MESSAGE_REMOVED", "#/N")]),
        (body("message N { message O {} }"), body("message N {}"), [("MESSAGE_REMOVED", "#/M/N/O")]),
        (body("int32 f = 3;"), body("M f = 3;"), [("FIELD_KIND_CHANGED", "#/M/3")]),
        (body("map<string, string> f = 3;"), body("string f = 3;"), [("FIELD_KIND_CHANGED", "#/M/3")]),
        (
            body("repeated E f = 3; message E { string key = 1; }"),
            body("map<string, string> f = 3; message E { string key = 1; }"),
            [("FIELD_KIND_CHANGED", "#/M/3")],
        ),
        (body("int32 f = 3;"), body("string f = 3;"), [("FIELD_SCALAR_KIND_CHANGED", "#/M/3")]),
        (
            body("oneof o { int32 f = 3; }"),
            body("oneof o { float f = 3; }"),
            [("FIELD_SCALAR_KIND_CHANGED", "#/M/o/3")],
        ),
        (body("oneof o { int32 f = 3; }"), body("oneof p { float f = 3; }"), [("FIELD_SCALAR_KIND_CHANGED", "#/M/3")]),
        (body("int32 f = 3;"), body("oneof p { float f = 3; }"), [("FIELD_SCALAR_KIND_CHANGED", "#/M/3")]),
        (body("map<string, int32> f = 3;"), body("map<string, M> f = 3;"), [("FIELD_KIND_CHANGED", "#/M/3")]),
        (body("map<int32, M> f = 3;"), body("map<string, M> f = 3;"), [("FIELD_SCALAR_KIND_CHANGED", "#/M/3")]),
        (body("M f = 3; message N {}"), body("N f = 3; message N {}"), [("FIELD_NAMED_TYPE_CHANGED", "#/M/3")]),
        (
            "message M { optional int32 f = 3; }",
            "message M { repeated int32 f = 3; }",
            [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/3")],
        ),
        (
            "message M { optional int32 f = 3; }",
            "message M { required int32 f = 3; }",
            [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/3")],
        ),
        ("message M {}", "message M { required int32 f = 3; }", [("REQUIRED_FIELD_ADDED", "#/M/3")]),
        ("message M { required int32 f = 3; }", "message M {}", [("REQUIRED_FIELD_REMOVED", "#/M/3")]),
        (
            "message M { oneof o { int32 f = 3; } }",
            "message M { required int32 f = 3; }",
            [("REQUIRED_FIELD_ADDED", "#/M/3")],
        ),
        (
            body("oneof o { int32 f = 3; int32 g = 4; }"),
            body("oneof o { int32 f = 3; }"),
            [("ONEOF_FIELD_REMOVED", "#/M/o/4")],
        ),
        (
            body("oneof o { int32 f = 3; int32 g = 4; }"),
            body("oneof o { int32 f = 3; } int32 g = 4;"),
            [("ONEOF_FIELD_REMOVED", "#/M/o/4")],
        ),
        (
            body("int32 f = 3; int32 g = 4;"),
            body("oneof o { int32 f = 3; int32 g = 4; }"),
            [("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "#/M/o")],
        ),
        (
            body("int32 f = 3; oneof o { int32 g = 4; }"),
            body("oneof o { int32 f = 3; int32 g = 4; }"),
            [("FIELD_MOVED_TO_EXISTING_ONEOF", "#/M/o")],
        ),
        (
            "message M { optional group G = 3 {} }",
            "message M { optional G g = 3; message G {} }",
            [("FIELD_KIND_CHANGED", "#/M/3")],
        ),
        (
            "message M { optional group G = 3 {} }",
            "message M { optional int32 g = 3; }",
            [("FIELD_KIND_CHANGED", "#/M/3")],
        ),
    ],
)
def test_each_rule_finds_its_change(writer: str, reader: str, expected: list[tuple[str, str]]) -> None:
    assert findings(writer, reader) == expected


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (body(""), body("", "message N {}")),
        (PROTO3 + "message M {} message N {}", PROTO3 + "message N {} message M {}"),
        (body("", "enum E { A = 0; B = 1; }"), body("")),
        (body("", "enum E { A = 0; B = 1; }"), body("", "enum E { A = 0; C = 1; D = 2; } enum F { Z = 0; }")),
        (body("int32 f = 3;"), body("int32 g = 3 [json_name = 'x', deprecated = true];")),
        (body("int32 f = 3;"), body("string g = 4;")),
        (body("oneof o { int32 f = 3; }"), body("oneof o { int32 f = 3; string g = 4; }")),
        (body("oneof o { int32 f = 3; }"), body("")),
        (body("oneof o { int32 f = 3; }"), body("oneof p { int32 f = 3; }")),
        (body("int32 f = 3;"), body("oneof o { int32 f = 3; string g = 4; }")),
        (body("optional int32 f = 3;"), body("int32 f = 3;")),
        (body("int32 f = 3;"), body("repeated int32 f = 3;")),
        ("message M { optional string f = 3; }", "message M { repeated bytes f = 3; }"),
        (body("map<string, string> f = 3;"), body("int32 g = 4;")),
        ("message M { optional group G = 3 {} }", "message M { optional group G = 3 { optional int32 x = 1; } }"),
        ("message M { optional group G = 3 {} }", "message M {}"),
        ("service S {}", "message M {}"),
        ("", ""),
    ],
)
def test_what_is_compatible_is_not_found(writer: str, reader: str) -> None:
    assert findings(writer, reader) == []


KINDS = [
    ["int32", "int64", "uint32", "uint64", "bool", "E"],
    ["sint32", "sint64"],
    ["string", "bytes"],
    ["fixed32", "sfixed32"],
    ["fixed64", "sfixed64"],
    ["float"],
    ["double"],
]


def test_scalars_of_one_kind_replace_each_other() -> None:
    texts = {
        scalar: ProtobufFormat().parse(body(f"{scalar} f = 1;", "enum E { A = 0; }"), {})
        for kind in KINDS
        for scalar in kind
    }
    kinds = {scalar: number for number, kind in enumerate(KINDS) for scalar in kind}
    for writer, written in texts.items():
        for reader, read in texts.items():
            rules = [finding.rule for finding in read.compare(written)]
            assert rules == ([] if kinds[writer] == kinds[reader] else ["FIELD_SCALAR_KIND_CHANGED"]), (writer, reader)


def test_a_finding_shows_both_sides() -> None:
    written = ProtobufFormat().parse(body("int32 f = 3;"), {})
    read = ProtobufFormat().parse(body("string f = 3;"), {})
    assert read.compare(written) == [Finding("FIELD_SCALAR_KIND_CHANGED", "#/M/3", "f", "string", "int32")]


IMPORTING = 'syntax = "proto3"; import "r.proto"; message M { a.R r = 1; a.R again = 2; a.S s = 3; }'


def test_messages_of_other_files_are_compared_where_fields_have_them() -> None:
    first = PROTO3 + "message R { S s = 1; } message S { R r = 1; int32 n = 2; }"
    second = PROTO3 + "message R { S s = 1; } message S { R r = 1; string n = 2; }"
    assert findings(IMPORTING, IMPORTING, {"r.proto": first}, {"r.proto": first}) == []
    assert findings(IMPORTING, IMPORTING, {"r.proto": first}, {"r.proto": second}) == [
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/2"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/3"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/R/1"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/S/2"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/S/1"),
    ]


def test_a_message_may_move_to_another_file_and_package() -> None:
    own = 'syntax = "proto3"; package a; message M { R r = 1; } message R { int32 n = 1; }'
    other = 'syntax = "proto3"; package a; import "r"; message M { b.R r = 1; } message R {}'
    reference = 'syntax = "proto3"; package b; message R { int32 n = 1; }'
    assert findings(own, other, {}, {"r": reference}) == []
    assert findings(own, other, {}, {"r": reference.replace("int32", "string")}) == [
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/R/1"),
    ]


def test_a_chain_of_thousands_with_more_paths_than_atoms_is_walked_once() -> None:
    def chain(last: str) -> dict[str, str]:
        links = "".join(f"message R{number} {{ R{number + 1} x = 1; R{number + 1} y = 2; }} " for number in range(2000))
        return {"r.proto": PROTO3 + links + f"message R2000 {{ {last} n = 1; }}"}

    text = 'syntax = "proto3"; import "r.proto"; message M { a.R0 r = 1; }'
    assert findings(text, text, chain("int32"), chain("int64")) == []
    found = findings(text, text, chain("int32"), chain("float"))
    assert len(found) == 4002
    assert found[0] == ("FIELD_NAMED_TYPE_CHANGED", "#/M/1")
