"""From JSON to bytes."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Final

from fastavro import schemaless_writer

from ottla.protocol.primitives import write_varint
from ottla.schemas.avro.data_bounds import check_depth, check_ends, is_recursive
from ottla.schemas.avro.default_values import DefaultValues
from ottla.schemas.avro.fastavro_form import UNFIT, mark, named_forms, type_form
from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Enum,
    Field,
    Fixed,
    Map,
    NoDefault,
    Primitive,
    Record,
    Union,
)
from ottla.schemas.avro.plain_json.branches import Branches
from ottla.schemas.avro.plain_json.scalars import Misfit, is_not, scalar_of
from ottla.schemas.errors import UnwritableValue
from ottla.schemas.format import Encode

Write = Callable[[Json, bytearray], None]

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")


def make_json_encoder(document: Document) -> Encode:
    """Raises UnwritableValue for what does not fit the schema, with the path to it."""
    check_ends(document)
    write, can_be_deep = _Compiler(document).compile(), is_recursive(document)

    def encode(value: object) -> bytes:
        if can_be_deep:
            check_depth(value)
        out = bytearray()
        try:
            write(value, out)  # type: ignore[arg-type]
        except Misfit as misfit:
            path = "".join(f"/{step}" for step in reversed(misfit.path))
            raise UnwritableValue(f"at {path or '/'}: {misfit}") from None
        except UnicodeEncodeError:
            raise UnwritableValue("a text has half of a surrogate pair, which UTF-8 cannot write") from None
        except RecursionError:
            raise UnwritableValue("the value is nested too deep") from None
        return bytes(out)

    return encode


class _Compiler:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._defaults = _Defaults(document)
        self._records: dict[str, Write] = {}
        # Records are completed one after the other, so that no chain of them is too long.
        self._open: deque[tuple[Record, dict[str, tuple[Field, Write]]]] = deque()

    def compile(self) -> Write:
        write = self._type(self._document.root)
        while self._open:
            record, fields = self._open.popleft()
            fields |= {field.name: (field, self._type(field.type)) for field in record.fields}
        return write

    def _type(self, one: AvroType) -> Write:
        definite = self._document.resolve(one)
        match definite:
            case Record():
                return self._record(definite)
            case Array():
                return _array(self._type(definite.items))
            case Map():
                return _map(self._type(definite.values))
            case Union():
                return self._union(definite)
            case Enum():
                return _enum(definite)
            case _:
                return _scalar(definite)

    def _record(self, record: Record) -> Write:
        known = self._records.get(record.name.full)
        if known is not None:
            return known
        fields: dict[str, tuple[Field, Write]] = {}
        self._open.append((record, fields))
        full, defaults = record.name.full, self._defaults

        def write(value: Json, out: bytearray) -> None:
            if not isinstance(value, Mapping):
                raise is_not(value, f"an object with the fields of {full}")
            if not value.keys() <= fields.keys():
                unknown = next(name for name in value if name not in fields)
                raise is_not(unknown, f"a field of {full}: there are {', '.join(fields)}")
            for name, (field, write_field) in fields.items():
                try:
                    if name in value:
                        write_field(value[name], out)
                    else:
                        out += defaults.of(field)
                except Misfit as misfit:
                    misfit.path.append(name)
                    raise

        self._records[full] = write
        return write

    def _union(self, union: Union) -> Write:
        branches = Branches(self._document, union)
        writes = [self._type(branch) for branch in union.branches]

        def write(value: Json, out: bytearray) -> None:
            chosen = branches.choose(value)
            if chosen is None:
                raise is_not(value, f"one of {', '.join(branches.names)}")
            out += write_varint(chosen.index)
            writes[chosen.index](chosen.value, out)

        return write


class _Defaults:
    """The bytes of fields that are left out."""

    def __init__(self, document: Document) -> None:
        self._values = DefaultValues(document)
        self._forms = named_forms(document)
        self._written: dict[Field, bytes] = {}

    def of(self, field: Field) -> bytes:
        written = self._written.get(field)
        if written is None:
            written = self._written[field] = self._write(field)
        return written

    def _write(self, field: Field) -> bytes:
        if isinstance(field.default, NoDefault):
            raise Misfit("there is no value, and the field has no default")
        out = BytesIO()
        try:
            schemaless_writer(out, mark(type_form(field.type), self._forms), self._values.of(field.type, field.default))
        except UNFIT:
            raise Misfit("there is no value, and the default of the field does not fit its type") from None
        return out.getvalue()


def _array(write_item: Write) -> Write:
    def write(value: Json, out: bytearray) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise is_not(value, "a list")
        if value:
            out += write_varint(len(value))
        for index, item in enumerate(value):
            try:
                write_item(item, out)
            except Misfit as misfit:
                misfit.path.append(str(index))
                raise
        out.append(0)

    return write


def _map(write_value: Write) -> Write:
    def write(value: Json, out: bytearray) -> None:
        if not isinstance(value, Mapping):
            raise is_not(value, "an object")
        if value:
            out += write_varint(len(value))
        for key, inner in value.items():
            _write_bytes(key.encode(), out)
            try:
                write_value(inner, out)
            except Misfit as misfit:
                misfit.path.append(key)
                raise
        out.append(0)

    return write


def _enum(one: Enum) -> Write:
    read = scalar_of(one).read
    places = {symbol: write_varint(index) for index, symbol in enumerate(one.symbols)}

    def write(value: Json, out: bytearray) -> None:
        out += places[read(value)]

    return write


def _scalar(one: Primitive | Fixed) -> Write:
    read = scalar_of(one).read

    def write(value: Json, out: bytearray) -> None:
        write_plain(read(value), out)

    write_plain = _PLAIN["fixed" if isinstance(one, Fixed) else one.kind]
    return write


def _write_bytes(data: bytes, out: bytearray) -> None:
    out += write_varint(len(data))
    out += data


_PLAIN: Final[Mapping[str, Callable[..., None]]] = {
    "null": lambda _plain, _out: None,
    "boolean": lambda plain, out: out.append(plain),
    "int": lambda plain, out: out.extend(write_varint(plain)),
    "long": lambda plain, out: out.extend(write_varint(plain)),
    "float": lambda plain, out: out.extend(_FLOAT.pack(plain)),
    "double": lambda plain, out: out.extend(_DOUBLE.pack(plain)),
    "string": lambda plain, out: _write_bytes(plain.encode(), out),
    "bytes": _write_bytes,
    "fixed": lambda plain, out: out.extend(plain),
}
