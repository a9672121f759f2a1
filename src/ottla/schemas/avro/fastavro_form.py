"""A schema in the form that fastavro makes of it when it parses one.

It is made here and not by fastavro, which refuses letters outside ASCII and whole numbers as defaults of a double, and
returns a default of bytes as text. The marker tells it that there is nothing left to parse.

fastavro also writes an int of any size. In the form for writing, ints have a logical type of our own that watches over
their range.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from fastavro.const import AVRO_TYPES
from fastavro.read import SchemaResolutionError
from fastavro.write import LOGICAL_WRITERS

from ottla.schemas.avro.default_values import DefaultValues
from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.logical_types import logical_type_of
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Enum,
    Fixed,
    Map,
    Named,
    NameRef,
    NoDefault,
    Primitive,
    Record,
    Union,
)

Form = Any
# What fastavro raises for values and data that do not fit their schema. It has no errors of its own for most of them.
UNFIT: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    SchemaResolutionError,
    struct.error,
)
_WATCHED_INT: Final = {"type": "int", "logicalType": "ottla-int"}


def _watch_int(value: object, _schema: Form) -> object:
    """None for what is out of range: an error here would keep a union from trying its next branch."""
    return value if not isinstance(value, int) or -(1 << 31) <= value < 1 << 31 else None


LOGICAL_WRITERS["int-ottla-int"] = _watch_int


def form_of(document: Document, *, is_written: bool = False) -> Form:
    return mark(type_form(document.root, is_written=is_written), named_forms(document, is_written=is_written))


def named_forms(document: Document, *, is_written: bool = False) -> dict[str, Form]:
    defaults = DefaultValues(document)
    return {_form_name(name): _named_form(defaults, one, is_written) for name, one in document.types.items()}


def _form_name(full: str) -> str:
    """A type may be called like a kind of types, which fastavro would mistake it for."""
    return f".{full}" if full in AVRO_TYPES else full


def mark(form: Form, names: dict[str, Form]) -> Form:
    """Says that a form is complete, and where it finds the types that it names."""
    if isinstance(form, list):
        return [mark(branch, names) for branch in form]
    form = names.get(form, form) if isinstance(form, str) else form
    if isinstance(form, str):
        return form
    return {**form, "__fastavro_parsed": True, "__named_schemas": names}


def type_form(one: AvroType, *, is_written: bool = False) -> Form:
    """Named types are names."""
    match one:
        case NameRef():
            return _form_name(one.full)
        case Record() | Enum() | Fixed():
            return _form_name(one.name.full)
        case Primitive():
            logical = logical_form(one)
            if not logical and is_written and one.kind == "int":
                return _WATCHED_INT
            return {"type": one.kind, **logical} if logical else one.kind
        case Array():
            return {"type": "array", "items": type_form(one.items, is_written=is_written)}
        case Map():
            return {"type": "map", "values": type_form(one.values, is_written=is_written)}
        case Union():
            return [type_form(branch, is_written=is_written) for branch in one.branches]


def logical_form(one: Primitive | Fixed) -> dict[str, Json]:
    if logical_type_of(one) is None:
        return {}
    return {key: one.props[key] for key in ("logicalType", "precision", "scale") if key in one.props}


def _named_form(defaults: DefaultValues, one: Named, is_written: bool) -> Form:
    match one:
        case Enum():
            form: dict[str, Any] = {"type": "enum", "name": one.name.full, "symbols": list(one.symbols)}
            return form if one.default is None else {**form, "default": one.default}
        case Fixed():
            return {"type": "fixed", "name": one.name.full, "size": one.size, **logical_form(one)}
        case Record():
            fields = []
            for field in one.fields:
                form = {"name": field.name, "type": type_form(field.type, is_written=is_written)}
                if not isinstance(field.default, NoDefault):
                    form["default"] = defaults.of(field.type, field.default)
                fields.append(form)
            return {"type": "record", "name": one.name.full, "fields": fields}
