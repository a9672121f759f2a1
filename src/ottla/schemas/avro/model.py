"""An Avro schema as immutable values.

A named type is one value wherever it is meant: where it is used again, and inside itself, stands a NameRef, and the
document knows the type by its full name. Values are told apart by identity, because two equal texts in two places are
two places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ottla.schemas.avro.json_text import Json
from ottla.schemas.avro.names import Name

Props = Mapping[str, Json]


class NoDefault:
    """Stands where a field has no default; null is one."""


NO_DEFAULT: Final = NoDefault()


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    kind: str
    props: Props = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    items: AvroType
    props: Props = field(default_factory=dict)
    kind: str = "array"


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    values: AvroType
    props: Props = field(default_factory=dict)
    kind: str = "map"


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    branches: tuple[AvroType, ...]
    kind: str = "union"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    name: str
    type: AvroType
    default: Json | NoDefault = NO_DEFAULT
    doc: str | None = None
    # ascending, descending or ignore.
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    props: Props = field(default_factory=dict)

    @property
    def has_default(self) -> bool:
        return not isinstance(self.default, NoDefault)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    name: Name
    fields: tuple[Field, ...]
    is_error: bool = False
    doc: str | None = None
    aliases: tuple[Name, ...] = ()
    props: Props = field(default_factory=dict)
    kind: str = "record"


@dataclass(frozen=True, slots=True, eq=False)
class Enum:
    name: Name
    symbols: tuple[str, ...]
    default: str | None = None
    doc: str | None = None
    aliases: tuple[Name, ...] = ()
    props: Props = field(default_factory=dict)
    kind: str = "enum"


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    name: Name
    size: int
    doc: str | None = None
    aliases: tuple[Name, ...] = ()
    props: Props = field(default_factory=dict)
    kind: str = "fixed"


@dataclass(frozen=True, slots=True, eq=False)
class NameRef:
    """A named type that is defined elsewhere."""

    full: str


Named = Record | Enum | Fixed
Definite = Primitive | Array | Map | Union | Record | Enum | Fixed
AvroType = Definite | NameRef


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A schema with everything that it refers to."""

    root: AvroType
    # All named types by their full names, those of the references included.
    types: Mapping[str, Named]
    # The names that the references define; the text does not repeat them.
    referred: frozenset[str] = frozenset()

    def resolve(self, one: AvroType) -> Definite:
        return self.types[one.full] if isinstance(one, NameRef) else one


def inner_types(one: Definite) -> tuple[AvroType, ...]:
    """The types directly within one, in the order of the text."""
    match one:
        case Array():
            return (one.items,)
        case Map():
            return (one.values,)
        case Union():
            return one.branches
        case Record():
            return tuple(each.type for each in one.fields)
        case _:
            return ()


def describe(one: Definite) -> str:
    """A type in a few words."""
    match one:
        case Record() | Enum() | Fixed():
            return f"{one.kind} {one.name.full}"
        case _:
            return one.kind
