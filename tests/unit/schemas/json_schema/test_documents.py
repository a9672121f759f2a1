"""Where `$ref` leads."""

import pytest

from ottla.schemas.errors import InvalidSchema, UnwritableValue
from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.json_format import JsonFormat
from unit.schemas.json_schema.compared import NEWEST, parse

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "references"),
    [
        ({"$ref": "#/definitions/a", "definitions": {"a": STRING}}, {}),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": STRING}}, {}),
        ({"$ref": "#a", "definitions": {"x": {"$id": "#a", **STRING}}}, {}),
        ({"$schema": NEWEST, "$ref": "#a", "$defs": {"x": {"$anchor": "a", **STRING}}}, {}),
        ({"$schema": NEWEST, "$dynamicRef": "#a", "$defs": {"x": {"$dynamicAnchor": "a", **STRING}}}, {}),
        ({"$id": "http://o/x.json", "$ref": "y.json", "definitions": {"y": {"$id": "y.json", **STRING}}}, {}),
        # Into references, by their names.
        ({"$ref": "a.json"}, {"a.json": STRING}),
        ({"$ref": "./a.json"}, {"a.json": STRING}),
        ({"$ref": "a.json#/definitions/b"}, {"a.json": {"definitions": {"b": STRING}}}),
        ({"$ref": "http://o/a.json"}, {"http://o/a.json": STRING}),
        ({"$id": "http://o/x.json", "$ref": "a.json"}, {"a.json": STRING}),
        ({"$id": "http://o/x.json", "$ref": "http://o/a.json"}, {"a.json": STRING}),
        ({"$id": "urn:x", "$ref": "a.json"}, {"a.json": STRING}),
        # From one reference into another, and from one draft into another.
        ({"$ref": "a.json"}, {"b.json": STRING, "a.json": {"$ref": "b.json"}}),
        ({"$ref": "dir/a.json"}, {"b.json": STRING, "dir/a.json": {"$ref": "b.json"}}),
        (
            {"$schema": NEWEST, "$ref": "a.json"},
            {"a.json": {"$schema": "http://json-schema.org/draft-07/schema#", "items": [STRING], **STRING}},
        ),
    ],
)
def test_a_reference_leads_to_a_string(schema: object, references: dict[str, object]) -> None:
    encode = parse(schema, references).encoder()
    assert encode("x") == b'"x"'
    with pytest.raises(UnwritableValue, match="is not string"):
        encode(1)


def test_a_meta_schema_is_at_hand() -> None:
    schema = parse({"$ref": "http://json-schema.org/draft-07/schema#"})
    assert schema.encoder()({"type": "string"}) == b'{"type":"string"}'
    with pytest.raises(UnwritableValue):
        schema.encoder()({"type": 5})


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("http://elsewhere.example/a.json", "'http://elsewhere.example/a.json' leads nowhere.*never fetched"),
        ("#/definitions/missing", "leads nowhere"),
        ("#missing", "leads nowhere"),
        ("file:///etc/passwd", "leads nowhere"),
        ("http://[", "leads nowhere"),
        ("#/type", "leads to str, not a schema"),
        ("#/enum/x", "leads nowhere"),
        ("known.json#/nothing", "among its references .known.json."),
    ],
)
def test_a_reference_into_nothing_is_named(reference: str, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        parse({"type": "object", "enum": [1], "properties": {"a": {"$ref": reference}}}, {"known.json": {}})


@pytest.mark.parametrize("identifier", ["http://[", "a b", "", "#", "::"])
def test_strange_identifiers_do_no_harm(identifier: str) -> None:
    for schema in ({"$id": identifier}, {"properties": {"a": {"$id": identifier, "properties": {"b": {"$ref": "#"}}}}}):
        try:
            parse(schema).encoder()({"a": {}})
        except InvalidSchema as error:
            assert identifier in str(error) or "identifiers" in str(error)


def test_a_reference_that_is_no_json_is_named() -> None:
    with pytest.raises(InvalidSchema, match=r"reference 'a\.json': this is not JSON"):
        JsonFormat().parse("{}", {"a.json": "{"})


def test_places_know_their_way() -> None:
    document = Document({"properties": {"a": {"$ref": "#/definitions/b"}}, "definitions": {"b": True}}, {})
    place = document.root.enter("properties/a", document.tree["properties"]["a"])
    assert place.path == "#/properties/a"
    assert place.follow("#/definitions/b").path == "#/definitions/b"
