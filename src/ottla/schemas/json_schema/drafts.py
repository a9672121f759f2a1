"""The drafts, how a schema says which it is, and where each of them has schemas within schemas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urljoin

from jsonschema import Draft4Validator, Draft6Validator, Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema_specifications import REGISTRY as META_SCHEMAS
from referencing import Specification
from referencing.jsonschema import DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012

_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "patternProperties", "definitions", "$defs", "dependentSchemas"})
# A schema, or something else: a list of schemas, or names.
_EITHER: Final = frozenset({"items", "dependencies"})

_IN_4: Final = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "items", "additionalItems", "properties", "patternProperties"),
        *("additionalProperties", "dependencies", "definitions"),
    }
)
_IN_6: Final = _IN_4 | {"contains", "propertyNames"}
_IN_7: Final = _IN_6 | {"if", "then", "else"}
_IN_2019: Final = _IN_7 | {"$defs", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
_IN_2020: Final = (_IN_2019 | {"prefixItems"}) - {"additionalItems"}


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    name: str
    id_keyword: str
    # Before 2019-09 a `$ref` hides whatever stands beside it.
    ref_hides: bool
    specification: Specification[Any]
    meta_validator: Any
    # Keywords that lead to other schemas, and keywords that have schemas.
    references: tuple[str, ...]
    keywords: frozenset[str]

    @property
    def known(self) -> frozenset[str]:
        return _known_to(self.name)


DRAFT_4: Final = Draft("4", "id", True, DRAFT4, Draft4Validator(Draft4Validator.META_SCHEMA), ("$ref",), _IN_4)
DRAFT_6: Final = Draft("6", "$id", True, DRAFT6, Draft6Validator(Draft6Validator.META_SCHEMA), ("$ref",), _IN_6)
DRAFT_7: Final = Draft("7", "$id", True, DRAFT7, Draft7Validator(Draft7Validator.META_SCHEMA), ("$ref",), _IN_7)
DRAFT_2019_09: Final = Draft(
    "2019-09",
    "$id",
    False,
    DRAFT201909,
    Draft201909Validator(Draft201909Validator.META_SCHEMA),
    ("$ref", "$recursiveRef"),
    _IN_2019,
)
DRAFT_2020_12: Final = Draft(
    "2020-12",
    "$id",
    False,
    DRAFT202012,
    Draft202012Validator(Draft202012Validator.META_SCHEMA),
    ("$ref", "$dynamicRef"),
    _IN_2020,
)

_BY_URI: Final = {
    "json-schema.org/draft-04/schema": DRAFT_4,
    "json-schema.org/draft-06/schema": DRAFT_6,
    "json-schema.org/draft-07/schema": DRAFT_7,
    "json-schema.org/draft/2019-09/schema": DRAFT_2019_09,
    "json-schema.org/draft/2020-12/schema": DRAFT_2020_12,
}


@cache
def _known_to(name: str) -> frozenset[str]:
    """The keywords that a meta-schema has something to say about. Those of newer drafts are made of several."""
    (draft,) = (draft for draft in _BY_URI.values() if draft.name == name)
    meta_schema = draft.meta_validator.schema
    known = set(meta_schema["properties"])
    for part in meta_schema.get("allOf", ()):
        if "$ref" in part:
            known |= META_SCHEMAS.contents(urljoin(meta_schema["$id"], part["$ref"]))["properties"].keys()
    return frozenset(known)


def draft_of(tree: object) -> Draft:
    """The draft that a schema names. Without one, or with one that nobody knows, it is draft 7, as in Confluent's."""
    named = tree.get("$schema") if isinstance(tree, dict) else None
    if not isinstance(named, str):
        return DRAFT_7
    return _BY_URI.get(named.removeprefix("http://").removeprefix("https://").rstrip("#"), DRAFT_7)


def subschemas(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[str, Any]]:
    """What stands where a schema belongs, each with the way to it."""
    if draft.ref_hides and "$ref" in schema:
        return
    for keyword, value in schema.items():
        if keyword not in draft.keywords:
            continue
        if isinstance(value, dict) and (keyword in _MAPS or keyword == "dependencies"):
            for name, each in value.items():
                if keyword != "dependencies" or not isinstance(each, list):
                    yield f"{keyword}/{escape(name)}", each
        elif isinstance(value, list) and keyword in _LISTS | _EITHER:
            for index, each in enumerate(value):
                yield f"{keyword}/{index}", each
        elif keyword not in _LISTS | _MAPS and keyword != "dependencies":
            yield keyword, value


def references_in(schema: dict[str, Any], draft: Draft) -> list[str]:
    """Where it leads: URIs, each relative to the place of the schema."""
    return [schema[keyword] for keyword in draft.references if isinstance(schema.get(keyword), str)]


def cut_subschemas(schema: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """A copy whose subschemas are all empty: what a meta-schema says of this schema alone."""
    cut = dict(schema)
    for keyword, value in schema.items():
        if keyword not in draft.keywords:
            continue
        if isinstance(value, dict) and (keyword in _MAPS or keyword == "dependencies"):
            cut[keyword] = {name: {} if isinstance(each, dict) else each for name, each in value.items()}
        elif isinstance(value, list) and keyword in _LISTS | _EITHER:
            cut[keyword] = [{} if isinstance(each, dict) else each for each in value]
        elif isinstance(value, dict):
            cut[keyword] = {}
    return cut


def escape(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
