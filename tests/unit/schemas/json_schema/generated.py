"""Schemas and values that hypothesis makes up. Few names and small numbers, so that they meet each other."""

from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "ab", "x-1")
PATTERNS = ("^a", "b$", "^x-[0-9]+$")
DRAFTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.sampled_from([0.5, 1.0, -2.5, 4.0]),
    st.sampled_from(["", *NAMES, "abc"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
_SMALL = st.integers(0, 4)
# Schemas that nothing but themselves contain; keywords that every draft has.
_LEAVES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"type": st.sampled_from(["string", "number", "integer", "boolean", "null", "array"])}),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(["string", "integer", "null"]), min_size=1, unique=True)}),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("string"),
            "maxLength": _SMALL,
            "minLength": _SMALL,
            "pattern": st.sampled_from(PATTERNS),
        },
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["number", "integer"]),
            "maximum": _SMALL,
            "minimum": _SMALL,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
        },
    ),
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr)}),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    more = st.booleans() | inner
    by_name = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.just("object"),
                "properties": by_name,
                "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
                "additionalProperties": more,
                "required": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
                "maxProperties": _SMALL,
                "minProperties": _SMALL,
            },
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.just("array"),
                "items": inner,
                "maxItems": _SMALL,
                "minItems": _SMALL,
                "uniqueItems": st.booleans(),
            },
        ),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    )


SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(_LEAVES, _containers, max_leaves=6)


def _only_newer(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Keywords of 2020-12, which the rules of Confluent hardly know."""
    return st.one_of(
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries({"const": VALUES}),
        st.fixed_dictionaries(
            {"contains": inner},
            optional={"minContains": _SMALL, "maxContains": _SMALL, "unevaluatedItems": st.booleans() | inner},
        ),
        st.fixed_dictionaries(
            {"prefixItems": st.lists(inner, min_size=1, max_size=3)},
            optional={"items": st.booleans() | inner, "unevaluatedItems": st.booleans() | inner},
        ),
        st.fixed_dictionaries(
            {"unevaluatedProperties": st.booleans() | inner},
            optional={
                "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "dependentSchemas": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
                "$ref": st.just("#/$defs/a"),
            },
        ),
        st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/a"])}),
        st.fixed_dictionaries({"propertyNames": inner}),
        st.fixed_dictionaries(
            {
                "dependentRequired": st.dictionaries(
                    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2, unique=True), max_size=2
                )
            }
        ),
        _containers(inner),
    )


NEWER_SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(_LEAVES, _only_newer, max_leaves=6)
