import json
from typing import Any

import pytest
from hypothesis import given

from ottla.schemas.avro.plain_json.decoding import make_json_decoder
from ottla.schemas.avro.plain_json.encoding import make_json_encoder
from ottla.schemas.errors import UnwritableValue
from unit.schemas.avro.plain_json.avro_data import schemas_and_data
from unit.schemas.avro.schemas import field, parse, record

ORDER = record(
    field("id", "long"),
    field("day", {"type": "int", "logicalType": "date"}, default=0),
    field("price", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, default="\u0000"),
    field("note", ["null", "string"], default=None),
)


def encode(schema: Any, value: Any) -> bytes:
    return make_json_encoder(parse(schema).document)(value)


@given(schemas_and_data())
def test_what_is_written_is_what_the_codec_reads(case: tuple[str, bytes]) -> None:
    """fastavro, which we did not write, reads data that came from JSON as it reads the data that were there before."""
    schema, data = case
    parsed = parse(schema)
    again = parsed.json_encoder()(json.loads(json.dumps(parsed.json_decoder()(data))))
    try:
        value = parsed.decoder()(data)
    except ValueError:
        # Days and times that Python has no value for.
        return
    assert repr(parsed.decoder()(again)) == repr(value)


def test_fields_that_are_left_out_have_their_defaults() -> None:
    document = parse(ORDER).document
    data = make_json_encoder(document)({"id": 1})
    assert make_json_decoder(document)(data) == {"id": 1, "day": "1970-01-01", "price": "0.00", "note": None}


def test_json_as_avros_own_tools_write_it_is_read() -> None:
    assert encode(ORDER, {"id": 1, "day": 19884, "note": {"string": "a"}, "price": "1.5"})[-3:] == b"\x02\x02a"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (ORDER, {"id": "1"}, 'at /id: "1" is not a long'),
        (ORDER, {}, "at /id: there is no value"),
        (ORDER, {"id": 1, "prise": 2}, '"prise" is not a field of R: there are id, day, price, note'),
        (ORDER, [], "at /: \\[\\] is not an object"),
        (ORDER, {"id": 1, "note": 5}, "at /note: 5 is not one of null, string"),
        (ORDER, {"id": 1, "day": "1.1.1970"}, "as in 2024-06-10"),
        ({"type": "array", "items": {"type": "map", "values": "int"}}, [{}, {"k": "v"}], 'at /1/k: "v"'),
        ({"type": "array", "items": "int"}, "abc", "is not a list"),
        ({"type": "map", "values": "int"}, [], "is not an object"),
        ('"string"', "\ud800", "surrogate"),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(schema: Any, value: Any, message: str) -> None:
    with pytest.raises(UnwritableValue, match=message):
        encode(schema, value)


def test_a_default_that_does_not_fit_its_type_is_told_when_it_is_needed() -> None:
    document = parse(record(field("a", "int", default="x")), is_new=False).document
    with pytest.raises(UnwritableValue, match="default of the field does not fit"):
        make_json_encoder(document)({})


def test_a_value_that_is_too_deep_is_refused() -> None:
    value: Any = None
    for _ in range(1000):
        value = {"again": value}
    with pytest.raises(UnwritableValue, match="deep"):
        encode(record(field("again", ["null", "R"])), value)
