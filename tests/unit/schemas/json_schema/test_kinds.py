from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.kinds import (
    Anything,
    Array,
    Combination,
    Condition,
    Constant,
    Enumeration,
    Kind,
    Kinds,
    Negation,
    Nothing,
    Number,
    Object,
    Text,
)


def kind_of(schema: object) -> Kind:
    return Kinds().of(Document(schema, {}).root)


def test_a_schema_of_one_kind_is_that_kind() -> None:
    for schema, kind in (
        (True, Anything),
        (False, Nothing),
        ({"title": "x"}, Anything),
        ({"format": "date"}, Text),
        ({"type": "integer"}, Number),
        ({"items": {}}, Array),
        ({"required": ["a"]}, Object),
        ({"enum": [1]}, Enumeration),
        ({"const": 1}, Constant),
        ({"not": {}}, Negation),
        ({"if": {}}, Condition),
    ):
        assert type(kind_of(schema)) is kind


def test_several_kinds_side_by_side_are_all_of_them() -> None:
    both = kind_of({"type": "string", "minimum": 5, "enum": ["a"]})
    assert isinstance(both, Combination)
    assert both.criterion == "allOf"
    assert [type(part) for part in both.parts] == [Enumeration, Text, Number]
    either = kind_of({"type": ["string", "null"], "maxLength": 5})
    assert isinstance(either, Combination)
    assert either.criterion == "anyOf"
    assert len(either.parts) == 2


def test_a_kind_says_whether_its_type_is_demanded() -> None:
    demanded, sniffed = kind_of({"type": "string"}), kind_of({"minLength": 1})
    assert isinstance(demanded, Text)
    assert isinstance(sniffed, Text)
    assert demanded.is_demanded
    assert not sniffed.is_demanded


def test_references_that_lead_in_a_circle_say_nothing() -> None:
    assert type(kind_of({"$ref": "#"})) is Anything
    circle = {
        "$ref": "#/definitions/a",
        "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
    }
    assert type(kind_of(circle)) is Anything


def test_each_kind_is_made_once() -> None:
    document = Document({"properties": {"a": {"$ref": "#"}}}, {})
    kinds = Kinds()
    root = kinds.of(document.root)
    assert isinstance(root, Object)
    assert kinds.of(root.properties["a"]) is root
