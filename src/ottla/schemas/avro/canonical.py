"""The text that a registry stores: what Java's `Schema.toString` writes.

Each named type is written where it is met first and is a name from then on; a namespace is left out where it is the one
around. Attributes have a fixed order, those of the user their own.
"""

from __future__ import annotations

from ottla.schemas.avro.json_text import Json, write, write_string
from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Document,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    NameRef,
    NoDefault,
    Primitive,
    Props,
    Record,
    Union,
)
from ottla.schemas.avro.names import Name


def write_schema(document: Document, *, with_references: bool = False) -> str:
    """What references define stays a name, unless their definitions are wanted in the text."""
    writer = _Writer(document, set() if with_references else set(document.referred))
    writer.write_type(document.root, "")
    return "".join(writer.parts)


class _Writer:
    def __init__(self, document: Document, written: set[str]) -> None:
        self._document = document
        self._written = written
        self.parts: list[str] = []

    def write_type(self, one: AvroType, space: str) -> None:
        one = self._document.resolve(one) if isinstance(one, NameRef) else one
        match one:
            case Primitive():
                if one.props:
                    self.parts.append(f'{{"type":"{one.kind}"')
                    self._write_props(one.props)
                    self.parts.append("}")
                else:
                    self.parts.append(f'"{one.kind}"')
            case Array() | Map():
                word, inner = ("items", one.items) if isinstance(one, Array) else ("values", one.values)
                self.parts.append(f'{{"type":"{one.kind}","{word}":')
                self.write_type(inner, space)
                self._write_props(one.props)
                self.parts.append("}")
            case Union():
                self.parts.append("[")
                for index, branch in enumerate(one.branches):
                    if index:
                        self.parts.append(",")
                    self.write_type(branch, space)
                self.parts.append("]")
            case Record() | Enum() | Fixed():
                self._write_named(one, space)
            case NameRef():
                raise AssertionError("resolved above")

    def _write_named(self, one: Named, space: str) -> None:
        name = one.name
        if name.full in self._written:
            self.parts.append(write_string(name.seen_from(space)))
            return
        self._written.add(name.full)
        kind = "error" if isinstance(one, Record) and one.is_error else one.kind
        self.parts.append(f'{{"type":"{kind}","name":{write_string(name.simple)}')
        if name.space != space:
            self.parts.append(f',"namespace":{write_string(name.space)}')
        if one.doc is not None:
            self.parts.append(f',"doc":{write_string(one.doc)}')
        match one:
            case Record():
                self._write_fields(one)
            case Enum():
                self.parts.append(f',"symbols":{write(one.symbols)}')
                if one.default is not None:
                    self.parts.append(f',"default":{write_string(one.default)}')
            case Fixed():
                self.parts.append(f',"size":{one.size}')
        self._write_props(one.props)
        self._write_aliases([alias.seen_from(name.space) for alias in one.aliases])
        self.parts.append("}")

    def _write_fields(self, record: Record) -> None:
        self.parts.append(',"fields":[')
        for index, field in enumerate(record.fields):
            if index:
                self.parts.append(",")
            self._write_field(field, record.name)
        self.parts.append("]")

    def _write_field(self, field: Field, record: Name) -> None:
        self.parts.append(f'{{"name":{write_string(field.name)},"type":')
        self.write_type(field.type, record.space)
        if field.doc is not None:
            self.parts.append(f',"doc":{write_string(field.doc)}')
        if not isinstance(field.default, NoDefault):
            self.parts.append(f',"default":{write(field.default)}')
        if field.order != "ascending":
            self.parts.append(f',"order":"{field.order}"')
        self._write_aliases(list(field.aliases))
        self._write_props(field.props)
        self.parts.append("}")

    def _write_aliases(self, aliases: list[Json]) -> None:
        if aliases:
            self.parts.append(f',"aliases":{write(aliases)}')

    def _write_props(self, props: Props) -> None:
        self.parts += [f",{write_string(key)}:{write(value)}" for key, value in props.items()]
