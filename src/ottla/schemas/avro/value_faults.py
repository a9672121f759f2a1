"""Where in a value the fault is, for a message: what the encoder says names at most the last field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ottla.schemas.avro.json_text import shorten
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
    describe,
)

PARTS_MAX: Final = 100_000
_INTEGER_BITS: Final = {"int": 31, "long": 63}


def find_fault(document: Document, value: object) -> str | None:
    """The first part of a value that does not fit, with its path; None if there is none to be found."""
    try:
        return _Search(document).fault(document.root, value, "")
    except (_GaveUp, RecursionError):
        return None


class _GaveUp(Exception):
    """Unions within unions have more ways than there is time for."""


class _Search:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = PARTS_MAX

    def fault(self, one: AvroType, value: object, path: str) -> str | None:
        self._left -= 1
        if self._left < 0:
            raise _GaveUp
        definite = self._document.resolve(one)
        match definite:
            case Record():
                return self._record_fault(definite, value, path)
            case Array():
                if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
                    return _misfit(path, value, "a list")
                return _first(self.fault(definite.items, item, f"{path}/{index}") for index, item in enumerate(value))
            case Map():
                return self._map_fault(definite, value, path)
            case Union():
                return self._union_fault(definite, value, path)
            case Enum():
                symbols = ", ".join(definite.symbols)
                is_fit = isinstance(value, str) and value in definite.symbols
                return None if is_fit else _misfit(path, value, f"a symbol of {definite.name.full}: {symbols}")
            case Fixed() | Primitive():
                # Values of logical types have types of their own, which the encoder knows.
                is_fit = "logicalType" in definite.props or _fits(definite, value)
                return None if is_fit else _misfit(path, value, _wanted(definite))
            case _:
                raise AssertionError(f"{definite} is none of the types")

    def _record_fault(self, record: Record, value: object, path: str) -> str | None:
        if not isinstance(value, Mapping):
            return _misfit(path, value, f"a mapping of the fields of {record.name.full}")
        for field in record.fields:
            here = f"{path}/{field.name}"
            if field.name in value:
                fault = self.fault(field.type, value[field.name], here)
                if fault is not None:
                    return fault
            elif not field.has_default and not self._takes_null(field.type):
                return f"at {here}: there is no value, and the field has no default"
        return None

    def _map_fault(self, one: Map, value: object, path: str) -> str | None:
        if not isinstance(value, Mapping):
            return _misfit(path, value, "a mapping")
        for key, item in value.items():
            if not isinstance(key, str):
                return _misfit(path, key, "a text, which the keys of a map are")
            fault = self.fault(one.values, item, f"{path}/{key}")
            if fault is not None:
                return fault
        return None

    def _union_fault(self, union: Union, value: object, path: str) -> str | None:
        if isinstance(value, tuple) and len(value) == 2:
            return self._chosen_fault(union, value, path)
        faults = [self.fault(branch, value, path) for branch in union.branches]
        if None in faults:
            return None
        # One branch may be meant, with a fault further in.
        inner = [fault for fault in faults if fault is not None and not fault.startswith(f"at {path or '/'}: ")]
        if len(inner) == 1:
            return inner[0]
        return _misfit(path, value, f"one of {', '.join(map(self._label, union.branches))}")

    def _chosen_fault(self, union: Union, value: tuple[object, object], path: str) -> str | None:
        name, inner = value
        for branch in union.branches:
            definite = self._document.resolve(branch)
            if name == (definite.name.full if isinstance(definite, Record | Enum | Fixed) else definite.kind):
                return self.fault(branch, inner, path)
        return _misfit(path, name, f"the name of one of {', '.join(map(self._label, union.branches))}")

    def _takes_null(self, one: AvroType) -> bool:
        definite = self._document.resolve(one)
        branches = definite.branches if isinstance(definite, Union) else (definite,)
        return any(isinstance(branch, Primitive) and branch.kind == "null" for branch in branches)

    def _label(self, branch: AvroType) -> str:
        return describe(self._document.resolve(branch))


def _first(faults: Iterable[str | None]) -> str | None:
    return next((fault for fault in faults if fault is not None), None)


def _misfit(path: str, value: object, wanted: str) -> str:
    return f"at {path or '/'}: {shorten(value)} is not {wanted}"


def _wanted(one: Primitive | Fixed) -> str:
    return f"{one.size} bytes" if isinstance(one, Fixed) else one.kind


def _fits(one: Primitive | Fixed, value: object) -> bool:
    if isinstance(one, Fixed):
        return isinstance(value, bytes) and len(value) == one.size
    match one.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            limit = 1 << _INTEGER_BITS[one.kind]
            return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bytes":
            return isinstance(value, bytes | bytearray)
        case _:
            return isinstance(value, str)
