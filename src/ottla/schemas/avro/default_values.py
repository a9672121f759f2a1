"""Defaults as values: bytes where JSON has text, numbers of the right kind, and records with all their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.schemas.avro.defaults import fits
from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.model import Array, AvroType, Document, Fixed, Map, NoDefault, Primitive, Record, Union

# More values than this in one default are not worked out: records in it can double at each level.
VALUES_MAX: Final = 10_000


def value_of_default(document: Document, one: AvroType, default: Json) -> object:
    """A default as a value: bytes where JSON has text, and records whole. What fits nothing stays as it is."""
    try:
        return _Defaults(document).value_of(one, default)
    except ValueError:
        return default


class _Defaults:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = VALUES_MAX

    def value_of(self, one: AvroType, default: Json) -> object:
        self._left -= 1
        if self._left < 0:
            raise ValueError
        definite = self._document.resolve(one)
        match definite, default:
            case Union(), _:
                return self._branch_value(definite, default)
            case ((Fixed() | Primitive(kind="bytes")), str()):
                return default.encode("latin-1", "replace")
            case Primitive(kind="float" | "double"), int() if not isinstance(default, bool):
                return float(default)
            case Array(), list():
                return [self.value_of(definite.items, item) for item in default]
            case Map(), Mapping():
                return {key: self.value_of(definite.values, item) for key, item in default.items()}
            case Record(), Mapping():
                return {
                    field.name: self._field_value(field.type, default.get(field.name, field.default))
                    for field in definite.fields
                }
        return default

    def _field_value(self, one: AvroType, default: Json | NoDefault) -> object:
        if isinstance(default, NoDefault):
            raise ValueError
        return self.value_of(one, default)

    def _branch_value(self, union: Union, default: Json) -> object:
        """The first branch is meant; a default of an older schema may fit another one."""
        for branch in union.branches:
            if fits(self._document, branch, default):
                return self.value_of(branch, default)
        return default
