from typing import Any

import pytest

from ottla.schemas.avro.data_bounds import DEPTH_MAX, EMPTY_ITEMS_MAX, Skimmer, check_depth, check_ends, is_recursive
from ottla.schemas.errors import InvalidSchema, UnreadableData, UnwritableValue
from unit.schemas.avro.schemas import field, parse, record

LIST = record(field("next", ["null", "R"]))
EVERYTHING = record(
    field("n", "null"),
    field("b", "boolean"),
    field("i", "long"),
    field("f", "float"),
    field("d", "double"),
    field("s", "string"),
    field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}),
    field("x", {"type": "fixed", "name": "F", "size": 2}),
    field("a", {"type": "array", "items": "int"}),
    field("m", {"type": "map", "values": "int"}),
    field("r", ["null", "R"]),
)


@pytest.mark.parametrize(
    ("schema", "is_needed"),
    [
        ('"string"', False),
        (LIST, True),
        ({"type": "array", "items": "int"}, False),
        ({"type": "array", "items": "null"}, True),
        (
            {
                "type": "array",
                "items": record(field("n", "null"), field("f", {"type": "fixed", "name": "F", "size": 0})),
            },
            True,
        ),
        ({"type": "map", "values": "null"}, False),
        (record(field("a", record(name="P")), field("b", "P")), False),
    ],
)
def test_only_data_that_can_do_harm_are_looked_at(schema: Any, is_needed: bool) -> None:
    assert Skimmer(parse(schema).document).is_needed == is_needed


def test_whole_data_pass() -> None:
    schema = parse(EVERYTHING)
    value = {"b": True, "i": -5, "f": 1.0, "d": 2.0, "s": "text", "e": "B", "x": b"ab", "a": [1, 2], "m": {"k": 1}}
    data = schema.encoder()({**value, "r": {**value, "r": None}})
    skimmer = Skimmer(schema.document)
    skimmer.check(data)
    for end in range(len(data)):
        with pytest.raises(UnreadableData):
            skimmer.check(data[:end])


def test_records_within_records_have_a_bound() -> None:
    skimmer = Skimmer(parse(LIST).document)
    skimmer.check(b"\2" * (DEPTH_MAX - 1) + b"\0")
    with pytest.raises(UnreadableData, match=f"deeper than {DEPTH_MAX}"):
        skimmer.check(b"\2" * DEPTH_MAX + b"\0")


def test_arrays_between_records_do_not_get_around_the_bound() -> None:
    nested: Any = "R"
    for _ in range(90):
        nested = {"type": "array", "items": nested}
    with pytest.raises(UnreadableData, match="nested too deep"):
        Skimmer(parse(record(field("f", nested))).document).check(b"\2" * 100_000)


def test_items_without_bytes_have_a_bound() -> None:
    skimmer = Skimmer(parse('{"type":"array","items":"null"}').document)
    skimmer.check(b"\x80\x01\0")
    with pytest.raises(UnreadableData, match=f"more than {EMPTY_ITEMS_MAX} items"):
        skimmer.check(b"\xfe\xff\xff\xff\xff\xff\xff\x0f\0")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\1", "at /next: -1 is none of 2 choices"),
        (b"\4", "at /next: 2 is none of 2 choices"),
        (b"\xff" * 11, "a number of more than 10 bytes"),
        (b"", "at /next: the data end within a number"),
    ],
)
def test_damage_is_named_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        Skimmer(parse(LIST).document).check(data)


def test_a_negative_length_is_damage() -> None:
    with pytest.raises(UnreadableData, match="-3 bytes are due"):
        Skimmer(parse('"bytes"').document).check(b"\5abc")


def test_a_record_that_never_ends_is_named() -> None:
    check_ends(parse(LIST).document)
    with pytest.raises(InvalidSchema, match=r"record [BC] contains itself without end"):
        check_ends(parse(record(field("b", record(field("c", record(field("b", "B"), name="C")), name="B")))).document)


def test_values_may_not_contain_themselves() -> None:
    assert is_recursive(parse(LIST).document)
    value: dict[str, Any] = {}
    value["next"] = value
    with pytest.raises(UnwritableValue, match="or contains itself"):
        check_depth(value)


def test_what_may_be_written_may_be_read() -> None:
    schema = parse(LIST)
    value: Any = None
    for _ in range(DEPTH_MAX):
        value = {"next": value}
    assert schema.decoder()(schema.encoder()(value)) == value
    with pytest.raises(UnwritableValue, match=f"deeper than {DEPTH_MAX}"):
        schema.encoder()({"next": value})


def test_a_tower_of_records_without_bytes_takes_no_time() -> None:
    schema: Any = record(name="R0")
    for level in range(1, 60):
        schema = record(field("a", schema), field("b", f"R{level - 1}"), name=f"R{level}")
    assert Skimmer(parse({"type": "array", "items": schema}).document).is_needed


def test_a_fault_at_the_bottom_is_told_as_well() -> None:
    value: Any = "no record"
    for _ in range(DEPTH_MAX - 1):
        value = {"next": value}
    with pytest.raises(UnwritableValue):
        parse(LIST).encoder()(value)
