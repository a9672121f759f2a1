"""What a .proto file declares, as it is written: the parts that the registry's text is made of.

A descriptor is no source for that text, since it has lost what a text keeps: names of types as they were written, the
order of options, and whether the entries of a map are a message of their own. Comments and layout are not kept; nor
does Confluent's registry keep them.

Values of options are texts (`Quoted`), words (`Word`: numbers, names, true and false), lists, and aggregates, whose
keys may be extensions (`[full.name]`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

TAG_MAX: Final = 2**29 - 1
ENUM_NUMBER_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Word:
    text: str


@dataclass(frozen=True, slots=True)
class Quoted:
    """A literal, or several in a row, without quotes and escapes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Listed:
    values: tuple[OptionValue, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Each key is there once: what is written under one key in several places is a list."""

    items: tuple[tuple[str, OptionValue], ...]


OptionValue: TypeAlias = "Word | Quoted | Listed | Aggregate"


@dataclass(frozen=True, slots=True)
class Option:
    """`(name).rest = value` if it is custom, else `name = value`."""

    name: str
    value: OptionValue
    is_custom: bool = False
    # Where in the value of a custom option this one leads: `.a.b`, or nothing.
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from first to last."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """Numbers, and names: quoted, or plain words in editions."""

    values: tuple[Range | Quoted | Word, ...]


@dataclass(frozen=True, slots=True)
class ExtensionRanges:
    ranges: tuple[Range, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """`default` and `json_name` are written like options, but are none."""

    label: str | None
    type: str
    name: str
    tag: int
    options: tuple[Option, ...] = ()
    default: OptionValue | None = None
    json_name: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A field and its message in one declaration."""

    label: str | None
    tag: int
    message: Message
    # Those of the field; those of the message are within it.
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf:
    name: str
    fields: tuple[Field, ...] = ()
    groups: tuple[Group, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Extend:
    name: str
    fields: tuple[Field, ...] = ()
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class EnumConstant:
    name: str
    number: int
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    constants: tuple[EnumConstant, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    # `export` or `local`, from edition 2024 on.
    visibility: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    fields: tuple[Field, ...] = ()
    one_ofs: tuple[OneOf, ...] = ()
    groups: tuple[Group, ...] = ()
    messages: tuple[Message, ...] = ()
    enums: tuple[Enum, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    extensions: tuple[ExtensionRanges, ...] = ()
    extends: tuple[Extend, ...] = ()
    visibility: str | None = None

    @property
    def is_map_entry(self) -> bool:
        """Whether this message stands for `map<...>`, as in a text that was made from a descriptor."""
        return any(option.name == "map_entry" and option.value == Word("true") for option in self.options)


@dataclass(frozen=True, slots=True)
class Rpc:
    name: str
    request: str
    response: str
    is_request_stream: bool = False
    is_response_stream: bool = False
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    rpcs: tuple[Rpc, ...] = ()
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    path: str
    # `public`, `weak` or `option`.
    modifier: str | None = None


@dataclass(frozen=True, slots=True)
class ProtoFile:
    # `proto2`, `proto3`, or the year of an edition; nothing if the file does not say.
    syntax: str | None = None
    is_edition: bool = False
    package: str | None = None
    imports: tuple[Import, ...] = ()
    options: tuple[Option, ...] = ()
    messages: tuple[Message, ...] = ()
    enums: tuple[Enum, ...] = ()
    extends: tuple[Extend, ...] = ()
    services: tuple[Service, ...] = field(default=())
