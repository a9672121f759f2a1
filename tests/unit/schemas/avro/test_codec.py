from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.avro.codec import make_decoder, make_encoder
from ottla.schemas.errors import InvalidSchema, SchemaError, UnreadableData, UnwritableValue
from unit.schemas.avro.schemas import field, parse, record

INNER = record(field("x", "long"), name="a.In")


@pytest.mark.parametrize(
    ("schema", "value", "data"),
    [
        ('"null"', None, b""),
        ('"int"', -1, b"\1"),
        ('"string"', "ä", b"\4\xc3\xa4"),
        ('["null","string"]', "a", b"\2\2a"),
        ({"type": "array", "items": INNER}, [{"x": 1}], b"\2\2\0"),
        ({"type": "enum", "name": "E", "symbols": ["Ä", "B"]}, "B", b"\2"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("1.28"), b"\4\x00\x80"),
        ({"type": "string", "logicalType": "uuid"}, UUID(int=0), b"\x48" + b"00000000-0000-0000-0000-000000000000"),
        ({"type": "long", "logicalType": "timestamp-millis"}, datetime(1970, 1, 1, tzinfo=UTC), b"\0"),
        ({"type": "bytes", "logicalType": "decimal"}, b"a", b"\2a"),
        (record(field("ö", "int"), name="Ä"), {"ö": 1}, b"\2"),
        (record(field("again", ["null", "record"]), name="record"), {"again": {"again": None}}, b"\2\0"),
    ],
)
def test_values_become_bytes_and_values_again(schema: Any, value: Any, data: bytes) -> None:
    document = parse(schema).document
    assert make_encoder(document)(value) == data
    assert make_decoder(document, None)(data) == value


def test_a_branch_is_found_by_the_value_or_named() -> None:
    schema = parse([INNER, record(field("x", "long"), field("y", "long", default=1), name="Other"), "int", "long"])
    encode, decode = schema.encoder(), schema.decoder()
    assert encode({"x": 1})[0] == 0
    assert encode({"x": 1, "y": 2})[0] == 2
    assert encode(("Other", {"x": 1}))[0] == 2
    assert encode(5)[0] == 4
    assert encode(2**40)[0] == 6
    assert decode(encode(("Other", {"x": 1}))) == {"x": 1, "y": 1}


def test_a_field_without_a_value_has_its_default() -> None:
    schema = parse(
        record(field("b", "bytes", default="\u00ff"), field("n", "double", default=1), field("u", ["null", "int"]))
    )
    assert schema.decoder()(schema.encoder()({})) == {"b": b"\xff", "n": 1.0, "u": None}


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ('"int"', 2**31, "at /: 2147483648 is not int"),
        ('"long"', 2**63, "is not long"),
        (record(field("i", "int")), {"i": 2**31}, "at /i: 2147483648 is not int"),
        (record(field("i", "int")), {}, "at /i: there is no value"),
        (
            record(field("a", {"type": "array", "items": INNER})),
            {"a": [{"x": 1}, {"x": "1"}]},
            'at /a/1/x: "1" is not long',
        ),
        ('["int","string"]', 1.5, "at /: 1.5 is not one of int, string"),
        ('"string"', "\ud800", "the value does not fit: .* surrogates not allowed"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "today", "the value does not fit"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2}, Decimal("1.5"), "the value does not fit"),
        ({"type": "map", "values": "int"}, 5, "at /: 5 is not a mapping"),
    ],
)
def test_what_does_not_fit_is_named(schema: Any, value: Any, message: str) -> None:
    with pytest.raises(UnwritableValue, match=message):
        parse(schema).encoder()(value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "at /i: the data end"),
        (b"\2\x08ab", "at /s: 4 bytes are due, and 2 are left"),
        (b"\2\2\xff", "do not fit the schema: 'utf-8' codec"),
        (b"\2\2abc", "2 bytes are left behind the value"),
        (b"\xff" * 20, "at /i: a number of more than"),
    ],
)
def test_what_was_not_written_so_is_refused(data: bytes, message: str) -> None:
    schema = parse(record(field("i", "long"), field("s", "string")))
    for decode in (schema.decoder(), schema.decoder(parse(record(field("s", "string"))))):
        with pytest.raises(UnreadableData, match=message):
            decode(data)


def test_a_record_without_end_has_no_codec() -> None:
    schema = parse(record(field("again", "R")))
    for make in (schema.encoder, schema.decoder):
        with pytest.raises(InvalidSchema, match="without end"):
            make()


ALL = parse(
    record(
        field("u", ["null", "R", "string", "double"]),
        field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}),
        field("m", {"type": "map", "values": {"type": "array", "items": "null"}}),
        field("d", {"type": "bytes", "logicalType": "decimal", "precision": 4}),
        field("t", {"type": "long", "logicalType": "timestamp-micros"}),
        field("uuid", {"type": "string", "logicalType": "uuid"}),
    )
)
EVOLVED = parse(record(field("t", "double"), field("m", {"type": "map", "values": {"type": "array", "items": "null"}})))
DECODERS = (ALL.decoder(), ALL.decoder(EVOLVED))


@given(st.binary(max_size=60))
def test_no_data_raise_anything_else(data: bytes) -> None:
    for decode in DECODERS:
        try:
            decode(data)
        except UnreadableData as error:
            assert str(error)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.tuples(st.text(), st.integers()),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["u", "e", "m", "d", "t", "uuid"]) | st.integers(), inner)
    ),
)


@given(VALUES)
def test_no_value_raises_anything_else(value: Any) -> None:
    try:
        ALL.encoder()(value)
    except UnwritableValue as error:
        assert str(error)


def test_schemas_that_do_not_go_together_are_told_at_once() -> None:
    with pytest.raises(SchemaError, match="int was written, which cannot be read as string"):
        parse('"int"').decoder(parse('"string"'))
