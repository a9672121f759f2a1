"""A schema without differences that have no meaning, as Confluent's registry registers it with `normalize=true`.

Attributes of the user and the keys within them are in order, a logical type in front; aliases are in order; an empty
`doc` of a type is gone; an error is a record; a default has the form of its type, so that 1 for a double is 1.0.

Confluent's own loses two things here that have a meaning, and this one keeps them: a type without a namespace inside a
record that has one, and a default that fits no type or another branch than the first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ottla.schemas.avro.json_text import Json, sort_keys
from ottla.schemas.avro.logical_types import logical_type_of
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


def normalise(document: Document) -> Document:
    normaliser = _Normaliser(document)
    root = normaliser.normalise_type(document.root)
    return Document(
        root, {name: normaliser.normalise_named(one) for name, one in document.types.items()}, document.referred
    )


class _Normaliser:
    def __init__(self, document: Document) -> None:
        self._document = document

    def normalise_type(self, one: AvroType) -> AvroType:
        """Definitions become names: the document has them, and whoever writes it writes them where they come first."""
        match one:
            case Record() | Enum() | Fixed():
                return NameRef(one.name.full)
            case NameRef():
                return one
            case Primitive():
                return replace(one, props=_props_of(one))
            case Array():
                return replace(one, items=self.normalise_type(one.items), props=_sorted(one.props))
            case Map():
                return replace(one, values=self.normalise_type(one.values), props=_sorted(one.props))
            case Union():
                return Union(tuple(map(self.normalise_type, one.branches)))

    def normalise_named(self, one: Named) -> Named:
        doc, aliases = one.doc or None, _sorted_aliases(one)
        match one:
            case Record():
                fields = tuple(map(self._normalise_field, one.fields))
                return Record(one.name, fields, doc=doc, aliases=aliases, props=_sorted(one.props))
            case Enum():
                return replace(one, doc=doc, aliases=aliases, props=_sorted(one.props))
            case Fixed():
                return replace(one, doc=doc, aliases=aliases, props=_props_of(one))

    def _normalise_field(self, field: Field) -> Field:
        default = field.default
        return replace(
            field,
            type=self.normalise_type(field.type),
            default=default if isinstance(default, NoDefault) else self._normalise_default(field.type, default),
            aliases=tuple(sorted(field.aliases)),
            props=_sorted(field.props),
        )

    def _normalise_default(self, one: AvroType, value: Json) -> Json:
        one = self._document.resolve(one)
        if isinstance(one, Union):
            return self._normalise_default(one.branches[0], value) if one.branches else sort_keys(value)
        match value:
            case int() | float() if isinstance(one, Primitive) and not isinstance(value, bool):
                return _number_of(one.kind, value)
            case Mapping():
                return {key: self._normalise_inner(one, key, value[key]) for key in sorted(value)}
            case str():
                return value
            case Sequence() if isinstance(one, Array):
                return [self._normalise_default(one.items, item) for item in value]
            case _:
                return sort_keys(value)

    def _normalise_inner(self, one: AvroType, key: str, value: Json) -> Json:
        if isinstance(one, Map):
            return self._normalise_default(one.values, value)
        if isinstance(one, Record):
            for field in one.fields:
                if field.name == key:
                    return self._normalise_default(field.type, value)
        return sort_keys(value)


def _sorted(props: Props) -> Props:
    return {key: sort_keys(props[key]) for key in sorted(props)}


def _props_of(one: Primitive | Fixed) -> Props:
    """A valid logical type comes first, with the numbers that belong to it."""
    props = _sorted(one.props)
    logical_type = logical_type_of(one)
    if logical_type is None:
        return props
    first = ["logicalType"]
    if logical_type == "decimal":
        first += ["precision", "scale"] if props.get("scale") else ["precision"]
    return {key: props[key] for key in first} | {key: value for key, value in props.items() if key not in first}


def _sorted_aliases(one: Named) -> tuple[Name, ...]:
    def written(alias: Name) -> str:
        # Java puts a dot in front of what has no namespace in a type that has one.
        return f".{alias.simple}" if not alias.space and one.name.space else alias.full

    return tuple(sorted(one.aliases, key=written))


def _number_of(kind: str, value: int | float) -> Json:
    if kind == "double":
        return _to_double(value)
    if kind == "float":
        return _shortest_single(_to_double(value))
    return value


def _to_double(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _shortest_single(value: float) -> float:
    """The number with the fewest digits that is the same in single precision, as Java writes it."""
    try:
        packed = struct.pack(">f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    (value,) = struct.unpack(">f", packed)
    for digits in range(1, 10):
        shorter = float(f"{value:.{digits}g}")
        if _packs_to(shorter, packed):
            return shorter
    return value


def _packs_to(value: float, packed: bytes) -> bool:
    try:
        return struct.pack(">f", value) == packed
    except OverflowError:
        return False
