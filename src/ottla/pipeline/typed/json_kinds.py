"""From a JSON schema to the kind of its column.

Types that Spark has are columns; what can be of several types, and what a schema does not say, is a column of JSON
text. So a property that is declared is never lost. Properties that are not declared are left out of a struct.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql.types import BooleanType, DateType, DoubleType, LongType, StringType, TimestampType

from ottla.pipeline.typed.column_kinds import Dictionary, Field, Growth, Kind, List, Plain, Struct
from ottla.pipeline.typed.json_values import (
    number_kind,
    read_date,
    read_instant,
    read_whole,
    text_kind,
    write_date,
    write_instant,
)
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.json_format import JsonSchema

_ALTERNATIVES: Final = ("oneOf", "anyOf")


def json_kind(schema: JsonSchema) -> Kind:
    return _KindMaker().part(schema.document.root, ())[0]


class _KindMaker:
    def __init__(self) -> None:
        self._growth = Growth()

    def part(self, place: Place, around: tuple[int, ...]) -> tuple[Kind, bool]:
        """A kind, and whether there may be null instead of a value. `around` are the schemas that this one is in."""
        self._growth.note(len(around))
        contents = place.contents
        if not isinstance(contents, dict) or id(contents) in around:
            return text_kind(), True
        around = (*around, id(contents))
        if isinstance(contents.get("$ref"), str):
            return self.part(place.follow(contents["$ref"]), around)
        names, takes_null = _types_of(contents)
        if len(names) == 1:
            return self._typed(names[0], place, around), takes_null
        if not names:
            return self._alternatives(place, around)
        return text_kind(), takes_null

    def _alternatives(self, place: Place, around: tuple[int, ...]) -> tuple[Kind, bool]:
        """One schema or null is that schema."""
        for keyword in _ALTERNATIVES:
            given = place.contents.get(keyword)
            if isinstance(given, list) and not any(other in place.contents for other in _OTHERS - {keyword}):
                there = [index for index, one in enumerate(given) if not _is_null(one)]
                if len(there) == 1:
                    index = there[0]
                    kind, takes_null = self.part(place.enter(f"{keyword}/{index}", given[index]), around)
                    return kind, takes_null or len(given) > 1
        return text_kind(), True

    def _typed(self, name: str, place: Place, around: tuple[int, ...]) -> Kind:
        match name:
            case "string":
                return _string_kind(place.contents.get("format"))
            case "integer":
                return _WHOLE
            case "number":
                return Plain(DoubleType(), float)
            case "boolean":
                return Plain(BooleanType())
            case "array":
                return self._array(place, around)
            case "object":
                return self._object(place, around)
        return text_kind()

    def _array(self, place: Place, around: tuple[int, ...]) -> Kind:
        items = place.contents.get("items")
        if not isinstance(items, dict) or "prefixItems" in place.contents:
            return text_kind()
        item, has_nulls = self.part(place.enter("items", items), around)
        return List(item, has_nulls=has_nulls)

    def _object(self, place: Place, around: tuple[int, ...]) -> Kind:
        properties, more = place.contents.get("properties"), place.contents.get("additionalProperties")
        if isinstance(properties, dict) and properties:
            given = place.contents.get("required")
            required = set(given) if isinstance(given, list) else set()
            fields = []
            for name, schema in properties.items():
                kind, takes_null = self.part(place.enter(f"properties/{name}", schema), around)
                is_there = name in required
                fields.append(Field(name, kind, takes_null or not is_there, omits_null=not is_there))
            return Struct(fields)
        if isinstance(more, dict) and "patternProperties" not in place.contents:
            item, has_nulls = self.part(place.enter("additionalProperties", more), around)
            return Dictionary(item, has_nulls=has_nulls)
        return text_kind()


# Beside a list of alternatives, these say more than it does.
_OTHERS: Final = frozenset({"oneOf", "anyOf", "allOf", "not", "if", "properties", "items"})
_WHOLE: Final = Plain(LongType(), read_whole, number_kind(LongType()).value)


def _types_of(contents: dict[str, Any]) -> tuple[list[str], bool]:
    """The types that a schema names without null, and whether null is one."""
    named = contents.get("type")
    if named is None and "properties" in contents:
        named = "object"
    if named is None and isinstance(contents.get("enum"), list):
        # All that may come is listed: texts, and perhaps null.
        kinds = {type(one) for one in contents["enum"]}
        return (["string"], type(None) in kinds) if kinds - {type(None)} == {str} else ([], True)
    names = [named] if isinstance(named, str) else list(named or ())
    return [name for name in names if name != "null"], "null" in names


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _string_kind(form: object) -> Kind:
    match form:
        case "date-time":
            return Plain(TimestampType(), read_instant, write_instant)
        case "date":
            return Plain(DateType(), read_date, write_date)
    return Plain(StringType())
