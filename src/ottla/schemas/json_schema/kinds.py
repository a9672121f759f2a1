"""A schema as what it says about strings, about numbers, about objects, ...

JSON Schema has no types: `{"minLength": 1, "minimum": 2}` says one thing about strings and another about numbers.
Confluent's rules compare kinds, so a schema is cut into kinds first, as the library does that Confluent's registry
reads schemas with:

    true, {}                             Anything
    false                                Nothing
    {"$ref": ...}                        what it leads to
    keywords of one kind                 that kind; `is_demanded` if "type" says so, and no other values pass
    "type": [..., ...]                   a Combination, anyOf
    "allOf", "anyOf", "oneOf"            a Combination
    "not", "enum", "const", "if"         a kind each
    several of these side by side        a Combination, allOf

Kinds compare by identity. Subschemas stay places until somebody asks, so a schema that contains itself does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeGuard

from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.drafts import DRAFT_4, DRAFT_2020_12, escape, references_in

ALL_OF: Final = "allOf"
ANY_OF: Final = "anyOf"
ONE_OF: Final = "oneOf"

_TEXT: Final = frozenset({"minLength", "maxLength", "pattern", "format"})
_NUMBER: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_ARRAY: Final = frozenset(
    {
        *("items", "additionalItems", "minItems", "maxItems", "uniqueItems"),
        *("contains", "minContains", "maxContains", "prefixItems", "unevaluatedItems"),
    }
)
_OBJECT: Final = frozenset(
    {
        *("properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties"),
        *("additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
    }
)
_KEYWORDS: Final = {
    "string": _TEXT,
    "number": _NUMBER,
    "integer": _NUMBER,
    "array": _ARRAY,
    "object": _OBJECT,
}
# The order of kinds that no "type" demands.
_SNIFFED: Final = ("array", "object", "number", "string")


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    place: Place


class Anything(Kind):
    __slots__ = ()


class Nothing(Kind):
    __slots__ = ()


class Boolean(Kind):
    __slots__ = ()


class Null(Kind):
    __slots__ = ()


class Condition(Kind):
    """if, then, else."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Text(Kind):
    is_demanded: bool
    max_length: int | None
    min_length: int | None
    pattern: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Number(Kind):
    is_demanded: bool
    is_integer: bool
    maximum: int | Decimal | None
    minimum: int | Decimal | None
    exclusive_maximum: int | Decimal | None
    exclusive_minimum: int | Decimal | None
    multiple_of: int | Decimal | None


@dataclass(frozen=True, slots=True, eq=False)
class Array(Kind):
    is_demanded: bool
    # What each item is; or what each of the first items is.
    items: Place | None
    tuple_items: tuple[Place, ...]
    # Whether there may be items after the first ones, and what they are.
    has_more: bool
    more: Place | None
    unevaluated: Place | None
    contains: Place | None
    limits: dict[str, int]
    is_unique: bool


@dataclass(frozen=True, slots=True, eq=False)
class Object(Kind):
    is_demanded: bool
    properties: dict[str, Place]
    patterns: dict[str, Place]
    # Whether there may be other properties, and what they are.
    has_more: bool
    more: Place | None
    unevaluated: Place | None
    names: Place | None
    required: frozenset[str]
    needed_names: dict[str, frozenset[str]]
    needed_schemas: dict[str, Place]
    limits: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Enumeration(Kind):
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Kind):
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Negation(Kind):
    negated: Place


@dataclass(frozen=True, slots=True, eq=False)
class Combination(Kind):
    criterion: str
    parts: tuple[Place | Kind, ...]


class Kinds:
    """The kinds of schemas, each made once."""

    def __init__(self) -> None:
        self._made: dict[int, Kind] = {}

    def of(self, place: Place | Kind) -> Kind:
        if isinstance(place, Kind):
            return place
        if not isinstance(place.contents, dict):
            return _make_kind(place)
        made = self._made.get(id(place.contents))
        if made is None:
            target = _follow(place)
            made = self.of(target) if target is not place else _make_kind(place)
            self._made[id(place.contents)] = made
        return made


def _follow(place: Place) -> Place:
    """Past a schema that is nothing but a `$ref`. One that only leads to itself says nothing."""
    passed: set[int] = set()
    while _is_reference(place):
        if id(place.contents) in passed:
            return place.enter("$ref", True)
        passed.add(id(place.contents))
        place = place.follow(references_in(place.contents, place.draft)[0])
    return place


def _is_reference(place: Place) -> bool:
    schema = place.contents
    if not isinstance(schema, dict):
        return False
    references = references_in(schema, place.draft)
    if place.draft.ref_hides:
        return bool(references)
    return len(references) == 1 and _SAYING.isdisjoint(schema)


_SAYING: Final = frozenset(
    {"type", "enum", "const", "not", "if", "allOf", "anyOf", "oneOf", *_TEXT, *_NUMBER, *_ARRAY, *_OBJECT} - {"format"}
)


def _make_kind(place: Place) -> Kind:
    schema = place.contents
    if not isinstance(schema, dict):
        return Nothing(place) if schema is False else Anything(place)
    parts = _take_apart(place, schema)
    if not parts:
        return Anything(place)
    if len(parts) == 1:
        return parts[0]
    return _combine(place, ALL_OF, tuple(parts))


def _take_apart(place: Place, schema: dict[str, Any]) -> list[Kind]:
    # Beside other keywords, which 2019-09 and later allow.
    references = references_in(schema, place.draft)
    parts: list[Kind] = [_combine(place, ALL_OF, (place.follow(reference),)) for reference in references]
    if isinstance(schema.get("enum"), list):
        parts.append(Enumeration(place, tuple(schema["enum"])))
    for criterion in (ALL_OF, ANY_OF, ONE_OF):
        if isinstance(schema.get(criterion), list):
            subschemas = (place.enter(f"{criterion}/{index}", each) for index, each in enumerate(schema[criterion]))
            parts.append(_combine(place, criterion, tuple(subschemas)))
    if "not" in schema:
        parts.append(Negation(place, place.enter("not", schema["not"])))
    if "const" in schema and place.draft is not DRAFT_4:
        parts.append(Constant(place, schema["const"]))
    typed, consumed = _take_types(place, schema)
    parts += typed
    for name in _SNIFFED:
        if not _KEYWORDS[name].isdisjoint(schema.keys() - consumed):
            parts.append(_make_typed(place, schema, name, is_demanded=False))
    if "if" in schema and "if" in place.draft.keywords:
        parts.append(Condition(place))
    return parts


def _take_types(place: Place, schema: dict[str, Any]) -> tuple[list[Kind], set[str]]:
    """What "type" says, and the keywords that went with it."""
    types = schema.get("type")
    consumed: set[str] = set()
    for name in [types] if isinstance(types, str) else types if isinstance(types, list) else ():
        consumed |= _KEYWORDS.get(name, frozenset())
    if isinstance(types, str):
        return [_make_typed(place, schema, types, is_demanded=True)], consumed
    if isinstance(types, list):
        made = tuple(_make_typed(place, schema, name, is_demanded=True) for name in types)
        return [_combine(place, ANY_OF, made)], consumed
    return [], consumed


def _combine(place: Place, criterion: str, parts: tuple[Place | Kind, ...]) -> Combination:
    # Combinations come first, as the numbers in Confluent's paths have it.
    def is_plain(part: Place | Kind) -> bool:
        if isinstance(part, Kind):
            return not isinstance(part, Combination)
        return not (isinstance(part.contents, dict) and any(map(part.contents.__contains__, (ALL_OF, ANY_OF, ONE_OF))))

    return Combination(place, criterion, tuple(sorted(parts, key=is_plain)))


def _make_typed(place: Place, schema: dict[str, Any], name: str, *, is_demanded: bool) -> Kind:
    if name == "string":
        lengths = _limits(schema, "maxLength", "minLength")
        pattern = schema.get("pattern")
        return Text(place, is_demanded, lengths.get("maxLength"), lengths.get("minLength"), pattern)
    if name in ("number", "integer"):
        return _make_number(place, schema, is_demanded=is_demanded, is_integer=name == "integer")
    if name == "array":
        return _make_array(place, schema, is_demanded=is_demanded)
    if name == "object":
        return _make_object(place, schema, is_demanded=is_demanded)
    return Boolean(place) if name == "boolean" else Null(place)


def _make_number(place: Place, schema: dict[str, Any], *, is_demanded: bool, is_integer: bool) -> Number:
    limits: dict[str, Any] = {}
    for end in ("Maximum", "Minimum"):
        limit, exclusive = schema.get(end.lower()), schema.get(f"exclusive{end}")
        # In draft 4 a boolean says whether the limit is meant exclusively.
        limits[end] = limit if _is_number(limit) else None
        limits[f"exclusive{end}"] = exclusive if _is_number(exclusive) else limits[end] if exclusive is True else None
    multiple = schema.get("multipleOf")
    return Number(
        place,
        is_demanded,
        is_integer,
        limits["Maximum"],
        limits["Minimum"],
        limits["exclusiveMaximum"],
        limits["exclusiveMinimum"],
        multiple if _is_number(multiple) and multiple > 0 else None,
    )


def _make_array(place: Place, schema: dict[str, Any], *, is_demanded: bool) -> Array:
    items, more = schema.get("items"), schema.get("additionalItems")
    first: Any = items if isinstance(items, list) else ()
    each = None if isinstance(items, list) else _enter(place, "items")
    more_keyword = "additionalItems"
    if place.draft is DRAFT_2020_12:
        first, more = schema.get("prefixItems", ()), None
        # Closed, or said of what follows the first items.
        if first or items is False:
            each, more, more_keyword = None, items, "items"
        elif items is True:
            each = None
    elif each is not None:
        # Said of nothing: there are no first items that it could follow.
        more = None
    limits = _limits(schema, "maxItems", "minItems")
    if "contains" in schema and not place.draft.ref_hides:
        limits = {"minContains": 1, **limits, **_limits(schema, "maxContains", "minContains")}
    steps = "prefixItems" if place.draft is DRAFT_2020_12 else "items"
    return Array(
        place,
        is_demanded,
        each,
        tuple(place.enter(f"{steps}/{index}", item) for index, item in enumerate(first)),
        more is not False,
        _enter(place, more_keyword) if isinstance(more, dict) else None,
        _enter(place, "unevaluatedItems"),
        _enter(place, "contains"),
        limits,
        schema.get("uniqueItems") is True,
    )


def _make_object(place: Place, schema: dict[str, Any], *, is_demanded: bool) -> Object:
    more = schema.get("additionalProperties")
    required = schema.get("required")
    needed_names: dict[str, frozenset[str]] = {}
    needed_schemas: dict[str, Place] = _enter_map(place, "dependentSchemas")
    for keyword in ("dependencies", "dependentRequired"):
        for name, needed in _object(schema.get(keyword)).items():
            if isinstance(needed, list):
                needed_names[name] = frozenset(each for each in needed if isinstance(each, str))
            elif keyword == "dependencies":
                needed_schemas[name] = place.enter(f"{keyword}/{escape(name)}", needed)
    return Object(
        place,
        is_demanded,
        _enter_map(place, "properties"),
        _enter_map(place, "patternProperties"),
        more is not False,
        _enter(place, "additionalProperties") if isinstance(more, dict) else None,
        _enter(place, "unevaluatedProperties"),
        _enter(place, "propertyNames"),
        frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset(),
        needed_names,
        needed_schemas,
        _limits(schema, "maxProperties", "minProperties"),
    )


def _enter(place: Place, keyword: str) -> Place | None:
    if keyword not in place.contents or keyword not in place.draft.keywords:
        return None
    return place.enter(keyword, place.contents[keyword])


def _enter_map(place: Place, keyword: str) -> dict[str, Place]:
    if keyword not in place.draft.keywords:
        return {}
    return {
        name: place.enter(f"{keyword}/{escape(name)}", each)
        for name, each in _object(place.contents.get(keyword)).items()
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _limits(schema: dict[str, Any], *keywords: str) -> dict[str, int]:
    return {keyword: int(schema[keyword]) for keyword in keywords if _is_number(schema.get(keyword))}


def _is_number(value: Any) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
