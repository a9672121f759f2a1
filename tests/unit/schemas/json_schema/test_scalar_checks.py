import pytest

from ottla.schemas.errors import InvalidSchema
from unit.schemas.json_schema.compared import failure_of, parse

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}


@pytest.mark.parametrize(
    ("schema", "fitting", "other", "detail"),
    [
        ({"type": "string"}, "x", 1, "1 is not string"),
        ({"type": ["string", "null"]}, None, 1, "1 is not string or null"),
        ({"type": "integer"}, 1.0, 1.5, "1.5 is not integer"),
        ({"type": "integer", **DRAFT_4}, 1, 1.0, "1.0 is not integer"),
        ({"type": "number"}, 1, True, "true is not number"),
        ({"type": "boolean"}, True, 1, "1 is not boolean"),
        ({"type": "array"}, [1], {}, "{} is not array"),
        ({"type": "object"}, {}, [], "[] is not object"),
        ({"enum": ["a", 1]}, 1, True, 'true is none of ["a",1]'),
        ({"const": {"a": 0.1}}, {"a": 0.1}, {}, '{} is none of [{"a":0.1}]'),
        ({"maximum": 5}, 5, 6, "6 is above 5"),
        ({"maximum": 0.1}, 0.1, 0.2, "0.2 is above 0.1"),
        ({"minimum": 5}, "x", 4.9, "4.9 is below 5"),
        ({"exclusiveMaximum": 5}, 4, 5, "5 is above or at 5"),
        ({"exclusiveMinimum": 5}, 6, 5.0, "5.0 is below or at 5"),
        ({"maximum": 5, "exclusiveMaximum": True, **DRAFT_4}, 4, 5, "5 is above or at 5"),
        ({"maximum": 5, "exclusiveMaximum": False, **DRAFT_4}, 5, 6, "6 is above 5"),
        ({"multipleOf": 3}, 9, 10, "10 is no multiple of 3"),
        ({"multipleOf": 0.01}, 19.99, 0.001, "0.001 is no multiple of 0.01"),
        ({"multipleOf": 1e-300}, 1e300, 1e-301, "is no multiple of"),
        ({"maxLength": 2}, "é😀", "abc", "3 characters are too many for 2"),
        ({"minLength": 2}, 5, "a", "1 characters are too few for 2"),
        ({"pattern": "^a"}, "ab", "ba", '"ba" does not match ^a'),
    ],
)
def test_each_keyword(schema: object, fitting: object, other: object, detail: str) -> None:
    assert failure_of(schema, fitting) is None
    assert detail in (failure_of(schema, other) or "")


def test_values_cannot_be_checked_with_what_re2_cannot_run() -> None:
    for schema in ({"pattern": "(?=a)"}, {"patternProperties": {r"(a)\1": {}}}):
        parsed = parse({"properties": {"a": schema}})
        for make in (parsed.encoder, parsed.decoder):
            with pytest.raises(InvalidSchema, match=r"^#/properties/a: values cannot be checked: RE2 cannot run"):
                make()


def test_long_values_are_shown_in_part() -> None:
    assert len(failure_of({"type": "null"}, "x" * 10_000) or "") < 200


def test_half_of_a_surrogate_pair_matches_nothing() -> None:
    assert "does not match" in (failure_of({"pattern": "."}, "\ud800") or "")
