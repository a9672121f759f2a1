from typing import Any

import pytest

from ottla.schemas.avro.value_faults import find_fault
from unit.schemas.avro.schemas import field, parse, record

INNER = record(field("x", "long"), name="a.In")
SCHEMA = record(
    field("i", "int", default=0),
    field("u", ["null", "string", INNER]),
    field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, default="A"),
    field("f", {"type": "fixed", "name": "F", "size": 2}, default="ab"),
    field("l", {"type": "array", "items": "double"}, default=[]),
    field("m", {"type": "map", "values": "bytes"}, default={}),
    field("d", {"type": "int", "logicalType": "date"}, default=0),
)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({}, None),
        ({"u": {"x": 1}, "l": [1, 2.5], "m": {"k": b""}, "f": b"ab"}, None),
        ({"d": "whatever the encoder says"}, None),
        (5, "at /: 5 is not a mapping of the fields of R"),
        ({"i": 2**31}, "at /i: 2147483648 is not int"),
        ({"i": True}, "at /i: True is not int"),
        ({"u": 5}, "at /u: 5 is not one of null, string, record a.In"),
        ({"u": {"x": "y"}}, 'at /u/x: "y" is not long'),
        ({"u": {}}, "at /u/x: there is no value, and the field has no default"),
        ({"u": ("a.In", {"x": None})}, "at /u/x: None is not long"),
        ({"u": ("b.In", {})}, 'at /u: "b.In" is not the name of one of null, string, record a.In'),
        ({"e": "C"}, 'at /e: "C" is not a symbol of E: A, B'),
        ({"e": []}, "at /e: [] is not a symbol of E: A, B"),
        ({"f": b"abc"}, "at /f: b'abc' is not 2 bytes"),
        ({"l": [1, "a"]}, 'at /l/1: "a" is not double'),
        ({"l": "ab"}, 'at /l: "ab" is not a list'),
        ({"m": {1: b""}}, "at /m: 1 is not a text, which the keys of a map are"),
        ({"m": {"k": "v"}}, 'at /m/k: "v" is not bytes'),
        ({"m": []}, "at /m: [] is not a mapping"),
    ],
)
def test_the_fault_is_named_with_its_place(value: Any, fault: str | None) -> None:
    assert find_fault(parse(SCHEMA).document, value) == fault


def test_a_search_along_too_many_ways_is_given_up() -> None:
    ways = [record(field("next", ["null", "A", "B"]), field("last", last), name=name) for name, last in
            (("A", "int"), ("B", "long"))]  # fmt: skip
    value: Any = None
    for _ in range(60):
        value = {"next": value, "last": "wrong for both"}
    assert find_fault(parse(ways).document, value) is None
