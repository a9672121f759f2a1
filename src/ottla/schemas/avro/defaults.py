"""Which defaults fit their types.

A default of a union has to fit the first branch, as Avro has it since ever; Avro 1.12 began to take any branch, which
readers in other languages do not follow. A record within a default may leave out fields that have defaults themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ottla.schemas.avro.json_text import Json, shorten
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Map,
    NoDefault,
    Primitive,
    Record,
    Union,
    describe,
)
from ottla.schemas.errors import InvalidSchema

_INTEGER_BITS = {"int": 31, "long": 63}


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

    def fits(self, one: AvroType, value: Json) -> bool:
        definite = self._document.resolve(one)
        if not isinstance(definite, Record):
            return self._fits_unnamed(definite, value)
        if not isinstance(value, Mapping):
            return False
        key = (id(definite), id(value))
        # A default that needs itself would never end.
        known = self._answers.setdefault(key, False)
        if not known:
            self._answers[key] = known = all(
                self._fits_field(definite, index, value) for index in range(len(definite.fields))
            )
        return known

    def _fits_field(self, record: Record, index: int, value: Mapping[str, Json]) -> bool:
        field = record.fields[index]
        inner = value.get(field.name, field.default)
        return not isinstance(inner, NoDefault) and self.fits(field.type, inner)

    def _fits_unnamed(self, one: AvroType, value: Json) -> bool:
        match one:
            case Union():
                return bool(one.branches) and self.fits(one.branches[0], value)
            case Array():
                return isinstance(value, list) and all(self.fits(one.items, item) for item in value)
            case Map():
                return isinstance(value, Mapping) and all(self.fits(one.values, item) for item in value.values())
            case Primitive():
                return _fits_primitive(one.kind, value)
            case _:
                return isinstance(value, str)


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
