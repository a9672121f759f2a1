"""Reads the declarations of a .proto text.

protoc decides what is valid; this reader follows it, and keeps what protoc does not. It takes all of the language:
proto2, proto3 and editions. Its depth is that of the text's brackets, which are counted before.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.elements import (
    ENUM_NUMBER_MAX,
    TAG_MAX,
    Enum,
    EnumConstant,
    Extend,
    ExtensionRanges,
    Field,
    Group,
    Import,
    Message,
    OneOf,
    Option,
    OptionValue,
    ProtoFile,
    Quoted,
    Range,
    Reserved,
    Rpc,
    Service,
    Word,
)
from ottla.schemas.protobuf.option_reader import read_option, read_options
from ottla.schemas.protobuf.token_cursor import TokenCursor

_LABELS: Final = ("optional", "required", "repeated")
_VISIBILITIES: Final = ("export", "local")


def read_elements(source: str) -> ProtoFile:
    """What a text declares; InvalidSchema if it is no .proto source."""
    cursor = TokenCursor(source)
    parts = _Parts()
    while cursor.peeked:
        _read_top(cursor, parts)
    return ProtoFile(
        parts.one("syntax"),
        parts.one("is_edition", False),
        parts.one("package"),
        **parts.all("imports", "options", "messages", "enums", "extends", "services"),
    )


class _Parts:
    """What was read of a declaration so far, by kind and in the order of the text."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[Any]] = defaultdict(list)

    def add(self, kind: str, part: object) -> None:
        self._found[kind].append(part)

    def one(self, kind: str, default: object = None) -> Any:
        return self._found[kind][-1] if self._found[kind] else default

    def all(self, *kinds: str) -> dict[str, Any]:
        return {kind: tuple(self._found[kind]) for kind in kinds}


def _read_top(cursor: TokenCursor, parts: _Parts) -> None:
    word = cursor.take()
    if word in ("syntax", "edition"):
        cursor.expect("=")
        parts.add("syntax", cursor.take_text())
        parts.add("is_edition", word == "edition")
        cursor.expect(";")
    elif word == "package":
        parts.add("package", cursor.take_name())
        cursor.expect(";")
    elif word == "import":
        modifier = None if cursor.is_at_literal else cursor.take()
        parts.add("imports", Import(cursor.take_text(), modifier))
        cursor.expect(";")
    elif word == "service":
        parts.add("services", _read_service(cursor))
    elif not _read_nested(cursor, word, parts) and word != ";":
        raise InvalidSchema(f"{word!r} begins no declaration of a .proto file")


def _read_nested(cursor: TokenCursor, word: str, parts: _Parts) -> bool:
    """What may stand in a file and in a message alike; False if this is something else."""
    visibility = None
    if word in _VISIBILITIES and cursor.peeked in ("message", "enum"):
        visibility = word
        word = cursor.take()
    if word == "message":
        parts.add("messages", _read_message(cursor, visibility))
    elif word == "enum":
        parts.add("enums", _read_enum(cursor, visibility))
    elif word == "extend":
        parts.add("extends", _read_extend(cursor))
    elif word == "option":
        parts.add("options", _read_option_statement(cursor))
    else:
        return False
    return True


def _read_option_statement(cursor: TokenCursor) -> Option:
    option = read_option(cursor)
    cursor.expect(";")
    return option


def _read_message(cursor: TokenCursor, visibility: str | None = None) -> Message:
    return _read_body(cursor, cursor.take(), visibility)


def _read_body(cursor: TokenCursor, name: str, visibility: str | None = None) -> Message:
    parts = _Parts()
    cursor.expect("{")
    while not cursor.take_if("}"):
        _read_member(cursor, parts)
    kinds = ("fields", "one_ofs", "groups", "messages", "enums", "options", "reserved", "extensions", "extends")
    return Message(name, visibility=visibility, **parts.all(*kinds))


def _read_member(cursor: TokenCursor, parts: _Parts) -> None:
    # A field may have a type that is called like a keyword; a declaration is told by what follows.
    word, following = cursor.peeked, cursor.peek_after()
    if word == ";":
        cursor.take()
    elif word == "reserved" and _is_reservation(cursor):
        cursor.take()
        parts.add("reserved", _read_reserved(cursor, TAG_MAX))
    elif word == "extensions" and following[:1].isdigit():
        cursor.take()
        parts.add("extensions", _read_extensions(cursor))
    elif word == "oneof":
        cursor.take()
        parts.add("one_ofs", _read_one_of(cursor))
    elif word in ("message", "enum", "extend", "option", *_VISIBILITIES):
        cursor.take()
        if not _read_nested(cursor, word, parts):
            _read_field(cursor, parts, None, word)
    else:
        _read_field(cursor, parts, cursor.take() if word in _LABELS else None)


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] in ("_", ".")


def _is_reservation(cursor: TokenCursor) -> bool:
    """Numbers, names in quotes, or names of an edition (`reserved a, b;`), and no field of a type called reserved."""
    return not _is_name(cursor.peek_after()) or cursor.peek_after(2) in (",", ";")


def _read_field(cursor: TokenCursor, parts: _Parts, label: str | None, first: str | None = None) -> None:
    kind = first if first is not None else _read_type(cursor)
    name = cursor.take()
    cursor.expect("=")
    tag = cursor.take_integer()
    options = read_options(cursor)
    if kind == "group" and cursor.peeked == "{":
        parts.add("groups", Group(label, tag, _read_body(cursor, name), options))
        return
    cursor.expect(";")
    default: OptionValue | None = None
    json_name: str | None = None
    kept = []
    for option in options:
        if option.name == "default" and not option.is_custom:
            default = option.value
        elif option.name == "json_name" and not option.is_custom and isinstance(option.value, Quoted):
            json_name = option.value.data.decode("utf-8", "replace")
        else:
            kept.append(option)
    parts.add("fields", Field(label, kind, name, tag, tuple(kept), default, json_name))


def _read_type(cursor: TokenCursor) -> str:
    if cursor.peeked == "map" and cursor.peek_after() == "<":
        cursor.take()
        cursor.expect("<")
        key = cursor.take_name()
        cursor.expect(",")
        value = cursor.take_name()
        cursor.expect(">")
        return f"map<{key}, {value}>"
    return cursor.take_name()


def _read_reserved(cursor: TokenCursor, number_max: int) -> Reserved:
    values: list[Range | Quoted | Word] = []
    while True:
        if cursor.is_at_literal:
            values.append(Quoted(cursor.take_literal()))
        elif _is_name(cursor.peeked):
            values.append(Word(cursor.take()))
        else:
            values.append(_read_range(cursor, number_max))
        if not cursor.take_if(","):
            cursor.expect(";")
            return Reserved(tuple(values))


def _read_range(cursor: TokenCursor, number_max: int) -> Range:
    first = cursor.take_integer()
    if not cursor.take_if("to"):
        return Range(first, first)
    return Range(first, number_max if cursor.take_if("max") else cursor.take_integer())


def _read_extensions(cursor: TokenCursor) -> ExtensionRanges:
    ranges = [_read_range(cursor, TAG_MAX)]
    while cursor.take_if(","):
        ranges.append(_read_range(cursor, TAG_MAX))
    options = read_options(cursor)
    cursor.expect(";")
    return ExtensionRanges(tuple(ranges), options)


def _read_one_of(cursor: TokenCursor) -> OneOf:
    name = cursor.take()
    parts = _Parts()
    cursor.expect("{")
    while not cursor.take_if("}"):
        if cursor.take_if("option"):
            parts.add("options", _read_option_statement(cursor))
        elif not cursor.take_if(";"):
            _read_field(cursor, parts, None)
    return OneOf(name, **parts.all("fields", "groups", "options"))


def _read_extend(cursor: TokenCursor) -> Extend:
    name = cursor.take_name()
    parts = _Parts()
    cursor.expect("{")
    while not cursor.take_if("}"):
        if not cursor.take_if(";"):
            _read_field(cursor, parts, cursor.take() if cursor.peeked in _LABELS else None)
    return Extend(name, **parts.all("fields", "groups"))


def _read_enum(cursor: TokenCursor, visibility: str | None) -> Enum:
    name = cursor.take()
    parts = _Parts()
    cursor.expect("{")
    while not cursor.take_if("}"):
        if cursor.take_if(";"):
            continue
        if cursor.peek_after() != "=" and cursor.take_if("option"):
            parts.add("options", _read_option_statement(cursor))
        elif cursor.peek_after() != "=" and cursor.take_if("reserved"):
            parts.add("reserved", _read_reserved(cursor, ENUM_NUMBER_MAX))
        else:
            constant = cursor.take()
            cursor.expect("=")
            number = cursor.take_integer()
            parts.add("constants", EnumConstant(constant, number, read_options(cursor)))
            cursor.expect(";")
    return Enum(name, visibility=visibility, **parts.all("constants", "options", "reserved"))


def _read_service(cursor: TokenCursor) -> Service:
    name = cursor.take()
    parts = _Parts()
    cursor.expect("{")
    while not cursor.take_if("}"):
        if cursor.take_if("option"):
            parts.add("options", _read_option_statement(cursor))
        elif cursor.take_if("rpc"):
            parts.add("rpcs", _read_rpc(cursor))
        else:
            cursor.expect(";")
    return Service(name, **parts.all("rpcs", "options"))


def _read_rpc(cursor: TokenCursor) -> Rpc:
    name = cursor.take()
    is_request_stream, request = _read_rpc_type(cursor)
    cursor.expect("returns")
    is_response_stream, response = _read_rpc_type(cursor)
    options = []
    if cursor.take_if("{"):
        while not cursor.take_if("}"):
            if cursor.take_if("option"):
                options.append(_read_option_statement(cursor))
            else:
                cursor.expect(";")
    else:
        cursor.expect(";")
    return Rpc(name, request, response, is_request_stream, is_response_stream, tuple(options))


def _read_rpc_type(cursor: TokenCursor) -> tuple[bool, str]:
    cursor.expect("(")
    is_stream = cursor.peeked == "stream" and cursor.peek_after() != ")" and cursor.take_if("stream")
    name = cursor.take_name()
    cursor.expect(")")
    return is_stream, name
