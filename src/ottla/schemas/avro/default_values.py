"""Defaults as values: bytes where JSON has text, numbers of the right kind, and records with all their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.schemas.avro.defaults import fits
from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.model import Array, AvroType, Document, Fixed, Map, NoDefault, Primitive, Record, Union

# In all defaults of a schema; further ones stay as they are. Records within a default can double at each level.
VALUES_MAX: Final = 100_000
DEPTH_MAX: Final = 100


class DefaultValues:
    """The values of a schema's defaults."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = VALUES_MAX

    def of(self, one: AvroType, default: Json) -> object:
        """What would be read if the default had been written. What fits nothing stays as it is."""
        try:
            return self._value(one, default, 0)
        except (ValueError, OverflowError):
            return default

    def _value(self, one: AvroType, default: Json | NoDefault, depth: int) -> object:
        """Raises ValueError for a record that lacks a field, and beyond the bounds."""
        self._left -= 1
        if self._left < 0 or depth > DEPTH_MAX or isinstance(default, NoDefault):
            raise ValueError
        definite = self._document.resolve(one)
        match definite, default:
            case Union(), _:
                return self._value(self._branch_of(definite, default), default, depth + 1)
            case ((Fixed() | Primitive(kind="bytes")), str()):
                return default.encode("latin-1", "replace")
            case Primitive(kind="float" | "double"), int() if not isinstance(default, bool):
                return float(default)
            case Array(), list():
                return [self._value(definite.items, item, depth + 1) for item in default]
            case Map(), Mapping():
                return {key: self._value(definite.values, item, depth + 1) for key, item in default.items()}
            case Record(), Mapping():
                return {
                    field.name: self._value(field.type, default.get(field.name, field.default), depth + 1)
                    for field in definite.fields
                }
        return default

    def _branch_of(self, union: Union, default: Json) -> AvroType:
        """The first branch is meant; a default of an older schema may fit another one."""
        for branch in union.branches:
            if fits(self._document, branch, default):
                return branch
        raise ValueError
