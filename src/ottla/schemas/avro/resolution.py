"""Two schemas as one pair of forms that fastavro follows without choosing.

fastavro resolves a reader's schema while it reads, and chooses differently from Avro: the first branch of a union to
which a value can be promoted, a name without its namespace. So everything is chosen here, once. Each pair of records
gets a name of its own on both sides, and the writer's fields the reader's names. A union whose branches differ becomes
a list of names, one for each branch of the writer, which no other name matches. And where the reader sees what was
written, its form is None: fastavro then reads as written, without looking.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

from fastavro import schemaless_reader, schemaless_writer

from ottla.schemas.avro.comparison import is_called
from ottla.schemas.avro.default_values import DefaultValues
from ottla.schemas.avro.fastavro_form import UNFIT, Form, logical_form, mark, named_forms, type_form
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Definite,
    Document,
    Enum,
    Field,
    Fixed,
    Map,
    NoDefault,
    Primitive,
    Record,
    Union,
    describe,
)
from ottla.schemas.errors import SchemaError

# What the reader sees where its type is not the writer's; other promotions change nothing in Python.
_CHANGED: Final = {
    ("int", "float"): "float",
    ("int", "double"): "double",
    ("long", "float"): "float",
    ("long", "double"): "double",
    ("string", "bytes"): "bytes",
    ("bytes", "string"): "string",
}
_UNCHANGED: Final = frozenset({("int", "long"), ("float", "double")})

# The field around a value, which takes no bytes: the types that a form names hang on a record, and a union is none.
VALUE: Final = "value"

Forms = tuple[Form, Form | None]


def resolve(writer: Document, reader: Document) -> Forms:
    """The forms of both sides, within a record of the field VALUE; SchemaError if the two do not go together."""
    return _Resolution(writer, reader).run()


class _Resolution:
    def __init__(self, writer: Document, reader: Document) -> None:
        self._writer = writer
        self._reader = reader
        # Names of pairs begin with a sign that no other name has.
        self._writer_names = named_forms(writer)
        self._reader_names: dict[str, Form] = {}
        self._defaults = DefaultValues(reader)
        self._reader_forms = named_forms(reader)
        self._records: dict[tuple[Record, Record], str] = {}
        # Records are completed one after the other, so that no chain of them is too long.
        self._open: deque[tuple[Record, Record, str]] = deque()
        self._count = 0

    def run(self) -> Forms:
        written, seen = self._pair(self._writer.root, self._reader.root)
        while self._open:
            writer, reader, name = self._open.popleft()
            self._complete(writer, reader, name)
        return _around(written, self._writer_names), _around(seen, self._reader_names)

    def _pair(self, writer: AvroType, reader: AvroType) -> Forms:
        written, seen = self._writer.resolve(writer), self._reader.resolve(reader)
        match written, seen:
            case Union(), _:
                return self._union(written, seen)
            case _, Union():
                return self._pair(written, self._choose(written, seen))
            case Record(), Record():
                return self._record(written, seen)
            case Enum(), Enum() if is_called(seen, written):
                return self._enum(written, seen)
            case Fixed(), Fixed() if is_called(seen, written) and seen.size == written.size:
                return type_form(written), None
            case Array(), Array():
                return _wrap("array", "items", self._pair(written.items, seen.items))
            case Map(), Map():
                return _wrap("map", "values", self._pair(written.values, seen.values))
            case Primitive(), Primitive():
                return _primitive(written, seen)
        raise _mismatch(written, seen)

    def _union(self, writer: Union, reader: Definite) -> Forms:
        branches = [self._branch(branch, reader) for branch in writer.branches]
        if all(forms is not None and forms[1] is None for forms in branches):
            return [forms[0] for forms in branches if forms is not None], None
        written: list[Form] = []
        seen: list[Form] = []
        for forms in branches:
            name = self._new_name()
            written.append(name)
            if forms is None:
                # Data of this branch meet no name, and are refused.
                self._writer_names[name] = "null"
                continue
            seen.append(name)
            self._writer_names[name] = forms[0]
            if forms[1] is not None:
                self._reader_names[name] = forms[1]
        if not seen:
            raise _mismatch(writer, reader)
        return written, seen

    def _branch(self, branch: AvroType, reader: Definite) -> Forms | None:
        try:
            return self._pair(branch, reader)
        except SchemaError:
            return None

    def _choose(self, writer: Definite, reader: Union) -> Definite:
        """The same type goes before one that it can be promoted to, a full name before one without its namespace."""
        candidates = [self._reader.resolve(branch) for branch in reader.branches]
        for fits in _CHOICES:
            for candidate in candidates:
                if fits(candidate, writer):
                    return candidate
        raise _mismatch(writer, reader)

    def _record(self, writer: Record, reader: Record) -> Forms:
        if not is_called(reader, writer):
            raise _mismatch(writer, reader)
        name = self._records.get((writer, reader))
        if name is None:
            name = self._records[writer, reader] = self._new_name()
            self._open.append((writer, reader, name))
        return name, name

    def _complete(self, writer: Record, reader: Record, name: str) -> None:
        wanted = {alias: field for field in reader.fields for alias in field.aliases}
        wanted |= {field.name: field for field in reader.fields}
        written: list[Form] = []
        seen: list[Form] = []
        filled: set[str] = set()
        for index, field in enumerate(writer.fields):
            target = wanted.get(field.name)
            if target is None or target.name in filled:
                # Nobody wants it; its name is none that a reader can have.
                written.append({"name": f"-{index}", "type": type_form(field.type)})
                continue
            filled.add(target.name)
            forms = self._pair(field.type, target.type)
            written.append({"name": target.name, "type": forms[0]})
            seen.append({"name": target.name, "type": forms[1]})
        seen += [self._missing(reader, field) for field in reader.fields if field.name not in filled]
        self._writer_names[name] = {"type": "record", "name": name, "fields": written}
        self._reader_names[name] = {"type": "record", "name": name, "fields": seen}

    def _missing(self, record: Record, field: Field) -> Form:
        if isinstance(field.default, NoDefault):
            raise SchemaError(f"the field {field.name} of {record.name.full} was not written, and has no default")
        value = self._defaults.of(field.type, field.default)
        return {"name": field.name, "type": None, "default": self._as_read(field.type, value)}

    def _as_read(self, one: AvroType, value: object) -> object:
        """A default as if it had been written: logical types have other values than JSON."""
        form, data = mark(type_form(one), self._reader_forms), BytesIO()
        try:
            schemaless_writer(data, form, value)
            data.seek(0)
            return schemaless_reader(data, form, None)
        except UNFIT:
            return value

    def _enum(self, writer: Enum, reader: Enum) -> Forms:
        if set(writer.symbols) <= set(reader.symbols):
            return type_form(writer), None
        name = self._new_name()
        self._writer_names[name] = {"type": "enum", "name": name, "symbols": list(writer.symbols)}
        form: dict[str, Any] = {"type": "enum", "name": name, "symbols": list(reader.symbols)}
        self._reader_names[name] = form if reader.default is None else {**form, "default": reader.default}
        return name, name

    def _new_name(self) -> str:
        self._count += 1
        return f"-pair-{self._count}"


def _around(form: Form | None, names: dict[str, Form]) -> Form:
    return mark({"type": "record", "name": "-around", "fields": [{"name": VALUE, "type": form}]}, names)


def _wrap(kind: str, word: str, inner: Forms) -> Forms:
    written, seen = inner
    return {"type": kind, word: written}, None if seen is None else {"type": kind, word: seen}


def _primitive(writer: Primitive, reader: Primitive) -> Forms:
    logical = logical_form(writer)
    written: Form = {"type": writer.kind, **logical} if logical else writer.kind
    kinds = (writer.kind, reader.kind)
    if writer.kind != reader.kind and kinds not in _UNCHANGED and kinds not in _CHANGED:
        raise _mismatch(writer, reader)
    return written, _CHANGED.get(kinds)


def _is_same(reader: Definite, writer: Definite) -> bool:
    if isinstance(reader, Record | Enum | Fixed):
        return isinstance(writer, Record | Enum | Fixed) and reader.kind == writer.kind and reader.name == writer.name
    return reader.kind == writer.kind


def _is_called_alike(reader: Definite, writer: Definite) -> bool:
    if not isinstance(reader, Record | Enum | Fixed) or not isinstance(writer, Record | Enum | Fixed):
        return False
    return reader.kind == writer.kind and is_called(reader, writer)


def _is_promoted(reader: Definite, writer: Definite) -> bool:
    kinds = (writer.kind, reader.kind)
    return kinds in _UNCHANGED or kinds in _CHANGED


_CHOICES: Final[tuple[Callable[[Definite, Definite], bool], ...]] = (_is_same, _is_called_alike, _is_promoted)


def _mismatch(writer: Definite, reader: Definite) -> SchemaError:
    return SchemaError(f"{describe(writer)} was written, which cannot be read as {describe(reader)}")
