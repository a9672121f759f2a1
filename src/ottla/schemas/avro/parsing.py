"""From JSON to the model, by the rules of Avro's Java library.

A name may be used before it is defined: it is looked up when all texts were read. What the references define is there
from the start. Attributes that mean nothing to Avro are kept as they are; those that mean something but have the wrong
type are refused, except for a `doc` or `namespace` that is no text, which Java drops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeGuard

from ottla.schemas.avro import json_text
from ottla.schemas.avro.json_text import Json, is_deeper, shorten
from ottla.schemas.avro.model import (
    NO_DEFAULT,
    Array,
    AvroType,
    Definite,
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
    inner_types,
)
from ottla.schemas.avro.names import PRIMITIVES, Name, is_valid, is_valid_full, name_of
from ottla.schemas.errors import InvalidSchema

# Types within types, through names too.
DEPTH_MAX: Final = 100

# Lists and objects within a default or an attribute.
VALUE_DEPTH_MAX: Final = 64

# What has a meaning on a type, so that it is no attribute of the user's.
_TYPE_WORDS: Final = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)
_ENUM_WORDS: Final = _TYPE_WORDS | {"default"}
_FIELD_WORDS: Final = frozenset({"default", "doc", "name", "order", "type", "aliases"})
_ORDERS: Final = ("ascending", "descending", "ignore")
_SIZE_MAX: Final = 2**31 - 9
_JAVA_DOUBLE: Final = re.compile(r"\s*([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))[fFdD]?\s*")


def parse_document(text: str, references: Iterable[str]) -> Document:
    """Raises InvalidSchema. The references come in an order in which each knows those that it needs."""
    types: dict[str, Named] = {}
    for reference in references:
        _Parser(types).parse(reference)
    referred = frozenset(types)
    document = Document(_Parser(types).parse(text), types, referred)
    _check_depth(document)
    return document


class _Parser:
    """Reads one text, and adds what it defines to the types that are known."""

    def __init__(self, types: dict[str, Named]) -> None:
        self._types = types
        # Records whose fields are still being read, and names that nobody has defined so far.
        self._open: set[str] = set()
        self._pending: dict[str, str] = {}

    def parse(self, text: str) -> AvroType:
        root = self._type(json_text.read(text), "", "", 0)
        for name, path in self._pending.items():
            if name not in self._types:
                raise _invalid(path, f"the type {shorten(name)} is not defined here nor by a reference")
        return root

    def _type(self, value: Json, space: str, path: str, depth: int) -> AvroType:
        if depth > DEPTH_MAX:
            raise _too_deep(path)
        if isinstance(value, str):
            return self._named(value, space, path)
        if isinstance(value, Mapping):
            return self._object(value, space, path, depth)
        if _is_list(value):
            return self._union(value, space, path, depth)
        raise _invalid(path, f"{shorten(value)} is no type: write a name, an object with a type, or a list of types")

    def _object(self, value: Mapping[str, Json], space: str, path: str, depth: int) -> AvroType:
        kind = value.get("type")
        if not isinstance(kind, str):
            raise _invalid(path, f"the type is {shorten(kind)}, and has to be a text")
        if kind in PRIMITIVES:
            return Primitive(kind, _props(value, _TYPE_WORDS, path))
        match kind:
            case "record" | "error":
                return self._record(value, space, path, depth)
            case "enum":
                return self._enum(value, space, path)
            case "fixed":
                return self._fixed(value, space, path)
            case "array" | "map":
                word = "items" if kind == "array" else "values"
                if word not in value:
                    raise _invalid(path, f"this {kind} has no {word}")
                inner = self._type(value[word], space, f"{path}/{word}", depth + 1)
                return (Array if kind == "array" else Map)(inner, _props(value, _TYPE_WORDS, path))
        return self._named(kind, space, f"{path}/type")

    def _named(self, text: str, space: str, path: str) -> AvroType:
        if text in PRIMITIVES:
            return Primitive(text)
        full = name_of(text, space).full
        for known in (full, text):
            if known in self._types or known in self._open:
                return NameRef(known)
        self._pending.setdefault(full, path)
        return NameRef(full)

    def _record(self, value: Mapping[str, Json], space: str, path: str, depth: int) -> Record:
        name = self._new_name(value, space, path)
        fields = value.get("fields")
        if not _is_list(fields):
            raise _invalid(path, f"the record {name.full} has no list of fields")
        self._open.add(name.full)
        parsed: dict[str, Field] = {}
        for index, one in enumerate(fields):
            place = f"{path}/fields/{index}"
            each = self._field(one, name.space, place, depth)
            if each.name in parsed:
                raise _invalid(place, f"the record {name.full} has a field {each.name} already")
            parsed[each.name] = each
        self._open.discard(name.full)
        record = Record(
            name,
            tuple(parsed.values()),
            is_error=value["type"] == "error",
            doc=_text(value, "doc"),
            aliases=_type_aliases(value, name, path),
            props=_props(value, _TYPE_WORDS, path),
        )
        self._types[name.full] = record
        return record

    def _field(self, value: Json, space: str, path: str, depth: int) -> Field:
        if not isinstance(value, Mapping):
            raise _invalid(path, f"{shorten(value)} is no field: write an object with a name and a type")
        name = value.get("name")
        if not isinstance(name, str) or not is_valid(name):
            raise _invalid(path, f"{shorten(name)} is no name of a field: {_RULE}")
        if "type" not in value:
            raise _invalid(path, f"the field {name} has no type")
        type_ = self._type(value["type"], space, f"{path}/type", depth + 1)
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise _invalid(path, f"the order of field {name} is {shorten(order)}, and has to be one of {_ORDERS}")
        return Field(
            name,
            type_,
            default=_default(value, type_, path),
            doc=_text(value, "doc"),
            order=order.lower(),
            aliases=_aliases(value, path),
            props=_props(value, _FIELD_WORDS, path),
        )

    def _enum(self, value: Mapping[str, Json], space: str, path: str) -> Enum | NameRef:
        symbols = value.get("symbols")
        if not _is_list(symbols):
            raise _invalid(path, "this enum has no list of symbols")
        seen: dict[str, None] = {}
        for index, symbol in enumerate(symbols):
            place = f"{path}/symbols/{index}"
            if not isinstance(symbol, str) or not is_valid(symbol):
                raise _invalid(place, f"{shorten(symbol)} is no symbol: {_RULE}")
            if symbol in seen:
                raise _invalid(place, f"the symbol {symbol} is there twice")
            seen[symbol] = None
        default = _text(value, "default")
        if default is not None and default not in seen:
            raise _invalid(path, f"the default {shorten(default)} is none of the symbols")
        name = self._new_name(value, space, path, same_as=tuple(seen))
        if name.full in self._types:
            return NameRef(name.full)
        aliases = _type_aliases(value, name, path)
        enum = Enum(name, tuple(seen), default, _text(value, "doc"), aliases, _props(value, _ENUM_WORDS, path))
        self._types[name.full] = enum
        return enum

    def _fixed(self, value: Mapping[str, Json], space: str, path: str) -> Fixed | NameRef:
        size = value.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _SIZE_MAX:
            raise _invalid(path, f"the size is {shorten(size)}, and has to be a whole number from 0 to {_SIZE_MAX}")
        name = self._new_name(value, space, path, same_as=size)
        if name.full in self._types:
            return NameRef(name.full)
        aliases = _type_aliases(value, name, path)
        fixed = Fixed(name, size, _text(value, "doc"), aliases, _props(value, _TYPE_WORDS, path))
        self._types[name.full] = fixed
        return fixed

    def _union(self, value: Sequence[Json], space: str, path: str, depth: int) -> Union:
        branches: dict[str, AvroType] = {}
        for index, one in enumerate(value):
            place = f"{path}/{index}"
            branch = self._type(one, space, place, depth + 1)
            if isinstance(branch, Union):
                raise _invalid(place, "a union directly in a union; put its types into the outer one")
            label = _branch_label(branch)
            if label in branches:
                raise _invalid(place, f"the union has {shorten(label)} already")
            branches[label] = branch
        return Union(tuple(branches.values()))

    def _new_name(
        self, value: Mapping[str, Json], space: str, path: str, same_as: tuple[str, ...] | int | None = None
    ) -> Name:
        """The name of a definition. Java lets an enum and a fixed be defined a second time if nothing differs."""
        text = value.get("name")
        if not isinstance(text, str):
            raise _invalid(path, f"the name is {shorten(text)}, and has to be a text")
        own_space = _text(value, "namespace")
        name = name_of(text, space if own_space is None else own_space)
        if not is_valid_full(name):
            raise _invalid(path, f"{shorten(name.full)} is no name of a type: {_RULE}")
        if name.full in PRIMITIVES:
            raise _invalid(path, f"{name.full} is the name of a primitive type; choose another or add a namespace")
        known = self._types.get(name.full)
        is_same = (isinstance(known, Enum) and known.symbols == same_as) or (
            isinstance(known, Fixed) and known.size == same_as
        )
        if name.full in self._open or (known is not None and (not is_same or known.props)):
            raise _invalid(path, f"{name.full} is defined already; refer to it by its name")
        return name


_RULE: Final = "letters, digits and _, and no digit in front"


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, list)


def _invalid(path: str, reason: str) -> InvalidSchema:
    return InvalidSchema(f"at {path or '/'}: {reason}")


def _too_deep(path: str) -> InvalidSchema:
    return _invalid(path, f"types are nested deeper than {DEPTH_MAX} levels")


def _text(value: Mapping[str, Json], word: str) -> str | None:
    text = value.get(word)
    return text if isinstance(text, str) else None


def _props(value: Mapping[str, Json], words: frozenset[str], path: str) -> Props:
    return {key: _shallow(inner, f"{path}/{key}") for key, inner in value.items() if key not in words}


def _shallow(value: Json, path: str) -> Json:
    if is_deeper(value, VALUE_DEPTH_MAX):
        raise _invalid(path, f"a value is nested deeper than {VALUE_DEPTH_MAX} levels")
    return value


def _aliases(value: Mapping[str, Json], path: str) -> tuple[str, ...]:
    aliases = value.get("aliases", [])
    if not _is_list(aliases):
        raise _invalid(path, f"aliases are {shorten(aliases)}, and have to be a list")
    found: dict[str, None] = {}
    for alias in aliases:
        if not isinstance(alias, str):
            raise _invalid(path, f"{shorten(alias)} is no alias: it has to be a text")
        found[alias] = None
    return tuple(found)


def _type_aliases(value: Mapping[str, Json], name: Name, path: str) -> tuple[Name, ...]:
    aliases = dict.fromkeys(name_of(alias, name.space) for alias in _aliases(value, path))
    for alias in aliases:
        if not is_valid(alias.simple):
            raise _invalid(path, f"{shorten(alias.full)} is no alias: {_RULE}")
    return tuple(aliases)


def _default(value: Mapping[str, Json], type_: AvroType, path: str) -> Json | NoDefault:
    if "default" not in value:
        return NO_DEFAULT
    default = value["default"]
    if isinstance(default, str) and isinstance(type_, Primitive) and type_.kind in ("float", "double"):
        # The only way to write NaN and the infinities.
        number = _JAVA_DOUBLE.fullmatch(default)
        if number is None:
            raise _invalid(path, f"the default {shorten(default)} is no number")
        return float(number[1])
    return _shallow(default, f"{path}/default")


def _branch_label(branch: AvroType) -> str:
    match branch:
        case NameRef():
            return branch.full
        case Record() | Enum() | Fixed():
            return branch.name.full
        case _:
            return branch.kind


def _check_depth(document: Document) -> None:
    """Names can nest types deeper than the text shows. Types that contain themselves are not followed around."""
    root = document.resolve(document.root)
    heights: dict[Definite, int] = {root: 0}
    path: dict[Definite, Iterator[AvroType]] = {root: iter(inner_types(root))}
    while path:
        one, rest = next(reversed(path.items()))
        following = next(rest, None)
        if following is None:
            del path[one]
            outer = next(reversed(path), None)
            if outer is not None:
                heights[outer] = max(heights[outer], heights[one] + 1)
            continue
        inner = document.resolve(following)
        if inner not in heights:
            heights[inner] = 0
            path[inner] = iter(inner_types(inner))
        elif inner not in path:
            heights[one] = max(heights[one], heights[inner] + 1)
        if heights[one] > DEPTH_MAX or len(path) > DEPTH_MAX + 1:
            raise _too_deep("")
    if heights[root] > DEPTH_MAX:
        raise _too_deep("")
