"""Which defaults fit their types.

A default of a union has to fit the first branch, as Avro has it since ever; Avro 1.12 began to take any branch, which
readers in other languages do not follow. A record within a default may leave out fields that have defaults themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ottla.schemas.avro.json_text import Json, shorten
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Field,
    Map,
    NoDefault,
    Primitive,
    Record,
    Union,
    describe,
)
from ottla.schemas.errors import InvalidSchema

# Records within the records of a default.
RECORDS_MAX: Final = 50
_INTEGER_BITS: Final = {"int": 31, "long": 63}


def check_defaults(document: Document) -> None:
    """InvalidSchema for the first default that does not fit, among what the references do not define."""
    check = _Check(document)
    for record in _records_of(document):
        for field in record.fields:
            if isinstance(field.default, NoDefault) or check.fits(field.type, field.default):
                continue
            definite = document.resolve(field.type)
            remedy = ""
            if isinstance(definite, Union) and definite.branches:
                first = describe(document.resolve(definite.branches[0]))
                remedy = f": it has to fit the union's first type, {first}"
            raise InvalidSchema(
                f"the default {shorten(field.default)} of field {field.name} in {record.name.full}"
                f" is no {describe(definite)}{remedy}"
            )


def fits(document: Document, one: AvroType, default: Json) -> bool:
    return _Check(document).fits(one, default)


def _records_of(document: Document) -> Iterator[Record]:
    for name, one in document.types.items():
        if isinstance(one, Record) and name not in document.referred:
            yield one


class _Check:
    """Remembers what it was asked: defaults within defaults can be met along more ways than there is time for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._answers: dict[tuple[int, int], bool] = {}
        self._depth = 0

    def fits(self, one: AvroType, value: Json) -> bool:
        definite = self._document.resolve(one)
        match definite:
            case Record():
                return isinstance(value, Mapping) and self._fits_record(definite, value)
            case Union():
                return bool(definite.branches) and self.fits(definite.branches[0], value)
            case Array():
                return isinstance(value, list) and all(self.fits(definite.items, item) for item in value)
            case Map():
                return isinstance(value, Mapping) and all(self.fits(definite.values, item) for item in value.values())
            case Primitive():
                return _fits_primitive(definite.kind, value)
            case _:
                return isinstance(value, str)

    def _fits_record(self, record: Record, value: Mapping[str, Json]) -> bool:
        key = (id(record), id(value))
        if key not in self._answers and self._depth < RECORDS_MAX:
            # A default that needs itself would never end.
            self._answers[key] = False
            self._depth += 1
            self._answers[key] = all(self._fits_field(field, value) for field in record.fields)
            self._depth -= 1
        return self._answers.get(key, False)

    def _fits_field(self, field: Field, value: Mapping[str, Json]) -> bool:
        inner = value.get(field.name, field.default)
        return not isinstance(inner, NoDefault) and self.fits(field.type, inner)


def _fits_primitive(kind: str, value: Json) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            limit = 1 << _INTEGER_BITS[kind]
            return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return isinstance(value, str)
