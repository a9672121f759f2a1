import json
from datetime import UTC, datetime

import pytest
from hypothesis import given

from ottla.schemas.errors import UnreadableData, UnwritableValue
from ottla.schemas.json_schema.codec import DEPTH_MAX
from unit.schemas.json_schema.compared import parse
from unit.schemas.json_schema.generated import VALUES

ANYTHING = parse(True)
ORDER = parse(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    }
)


@given(VALUES)
def test_what_is_written_is_read(value: object) -> None:
    assert ANYTHING.decoder()(ANYTHING.encoder()(value)) == value


def test_values_become_compact_json() -> None:
    assert ORDER.encoder()({"id": 1, "note": "é"}) == '{"id":1,"note":"é"}'.encode()
    assert ORDER.decoder()(b' {"id": 1.0} ') == {"id": 1.0}
    assert ORDER.decoder()(memoryview(b'{"id":1}')) == {"id": 1}  # type: ignore[arg-type]
    assert ANYTHING.encoder()((1, [2])) == b"[1,[2]]"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "^#: property 'id' is missing .required at #."),
        ({"id": "1"}, '^#/id: "1" is not integer .type at #/properties/id.'),
        ({"id": 1, "x": 2}, "^#/x: the schema allows no value here"),
        ({"id": float("nan")}, "^#/id: nan is not JSON"),
        ({"id": datetime.now(UTC)}, "^#/id: datetime is not JSON; convert it first"),
        ({"id": b"1"}, "^#/id: bytes is not JSON"),
        ({1: 2}, "^#: 1 is no name of a property"),
        ({"id": 1, "note": "\ud800"}, "half of a surrogate pair"),
        (None, "^#: null is not object"),
    ],
)
def test_what_does_not_fit_is_not_written(value: object, message: str) -> None:
    with pytest.raises(UnwritableValue, match=message):
        ORDER.encoder()(value)


def test_a_value_that_contains_itself_is_not_written() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(UnwritableValue, match="contains itself"):
        ANYTHING.encoder()(value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[NaN]", "NaN is not JSON"),
        (b"1e999", "too large for a double"),
        (b"1" * 5000, "not JSON"),
        (b"[" * 1_000_000, "deeper than 100"),
        (b'{"note": "x"}', "'id' is missing"),
    ],
)
def test_what_does_not_fit_is_not_read(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        ORDER.decoder()(data)


def test_the_deepest_value_passes_the_deepest_check() -> None:
    schema = parse({"$ref": "#/definitions/a", "definitions": {"a": {"items": {"$ref": "#/definitions/a"}}}})
    value: list[object] = []
    for _ in range(DEPTH_MAX - 1):
        value = [value]
    encoded = schema.encoder()(value)
    assert schema.decoder()(encoded) == value
    with pytest.raises(UnwritableValue, match="deeper"):
        schema.encoder()([value])


def test_the_reader_fills_in_its_defaults() -> None:
    reader = parse(
        {
            "properties": {
                "id": {"type": "integer"},
                "items": {"type": "array", "default": []},
                "price": {"type": "number", "default": 1.50},
                "to": {"properties": {"city": {"default": "Brno"}}},
            },
            "required": ["items"],
        }
    )
    decode = ORDER.decoder(reader)
    assert decode(b'{"id": 1}') == {"id": 1, "items": [], "price": 1.5}
    assert decode(b'{"to": {}, "items": [1]}') == {"to": {"city": "Brno"}, "items": [1], "price": 1.5}
    first = decode(b"{}")
    assert isinstance(first, dict)
    first["items"].append(1)
    assert decode(b"{}") == {"items": [], "price": 1.5}
    with pytest.raises(UnwritableValue, match="'items' is missing"):
        reader.encoder()({})


def test_alternatives_fill_in_nothing() -> None:
    with_default = {"properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}
    schema = parse({"anyOf": [{**with_default, "maxProperties": 0}, with_default], "not": {"required": ["b"]}})
    assert schema.decoder()(b"{}") == {}


def test_large_arrays_are_within_the_bounds() -> None:
    schema = parse({"items": {"type": "integer"}})
    value = list(range(200_000))
    assert json.loads(schema.encoder()(value)) == schema.decoder()(json.dumps(value).encode())
