"""Writes a .proto file as Confluent's registry stores it.

The order is fixed whatever the order of the source: in a file imports, options, messages, enums, extensions, services;
in a message reserved numbers, options, fields, oneofs, groups, extension ranges, extensions, messages, enums. Each part
has an empty line before it, or begins right after the bracket of its message. Two spaces indent. Where Confluent would
write what no compiler reads (defaults of bytes fields without quotes) or leave something out (options of groups and of
extension ranges, weak imports), this printer does not follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

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
    ProtoFile,
    Quoted,
    Range,
    Reserved,
    Rpc,
    Service,
)
from ottla.schemas.protobuf.literals import write_literal
from ottla.schemas.protobuf.option_printer import indent, print_bracketed, print_statement

_Part = TypeVar("_Part")


def print_file(file: ProtoFile) -> str:
    head = ""
    if file.syntax is not None:
        head += f'{"edition" if file.is_edition else "syntax"} = "{file.syntax}";\n'
    if file.package is not None:
        head += f"package {file.package};\n"
    # Confluent puts plain imports before public ones.
    imports = sorted(file.imports, key=lambda one: one.modifier is not None)
    types = [*map(print_message, file.messages), *map(_print_enum, file.enums)]
    return head + "".join(
        "\n" + "".join(section)
        for section in (
            [_print_import(one) for one in imports],
            [print_statement(option) for option in file.options],
            types,
            [_print_extend(extend) for extend in file.extends],
            [_print_service(service) for service in file.services],
        )
        if section
    )


def print_message(message: Message) -> str:
    return f"{_word(message.visibility)}message {message.name} {{{_print_body(message)}}}\n"


def _print_body(message: Message) -> str:
    return "".join(
        (
            _section(message.reserved, lambda reserved: _print_reserved(reserved, TAG_MAX)),
            _section(message.options, print_statement),
            _section(message.fields, _print_field),
            _section(message.one_ofs, _print_one_of),
            _section(message.groups, _print_group),
            _section(message.extensions, _print_extensions),
            _section(message.extends, _print_extend),
            _section((*map(print_message, message.messages), *map(_print_enum, message.enums)), str),
        )
    )


def _section(parts: Iterable[_Part], write: Callable[[_Part], str]) -> str:
    """An empty line, or the end of the line of the bracket, and the parts; nothing for no parts."""
    written = "".join(indent(write(part)) for part in parts)
    return f"\n{written}" if written else ""


def _word(word: str | None) -> str:
    return f"{word} " if word else ""


def _print_import(one: Import) -> str:
    modifier = f"{one.modifier} " if one.modifier else ""
    return f"import {modifier}{write_literal(one.path.encode())};\n"


def _print_field(field: Field) -> str:
    options = print_bracketed(all_options(field))
    return f"{_word(field.label)}{field.type} {field.name} = {field.tag}{options};\n"


def all_options(field: Field) -> tuple[Option, ...]:
    """The options of a field, with those that are none."""
    options = field.options
    if field.default is not None:
        options += (Option("default", field.default),)
    if field.json_name is not None:
        options += (Option("json_name", Quoted(field.json_name.encode())),)
    return options


def _print_group(group: Group) -> str:
    options = print_bracketed(group.options)
    body = _print_body(group.message)
    return f"{_word(group.label)}group {group.message.name} = {group.tag}{options} {{{body}}}\n"


def _print_one_of(one_of: OneOf) -> str:
    body = (
        _section(one_of.options, print_statement)
        + _section(one_of.fields, _print_field)
        + _section(one_of.groups, _print_group)
    )
    return f"oneof {one_of.name} {{{body}}}\n"


def _print_extend(extend: Extend) -> str:
    body = _section(extend.fields, _print_field) + _section(extend.groups, _print_group)
    return f"extend {extend.name} {{{body}}}\n"


def _print_extensions(extensions: ExtensionRanges) -> str:
    ranges = ", ".join(_print_range(one, TAG_MAX) for one in extensions.ranges)
    return f"extensions {ranges}{print_bracketed(extensions.options)};\n"


def _print_reserved(reserved: Reserved, number_max: int) -> str:
    values = (
        _print_range(value, number_max)
        if isinstance(value, Range)
        else write_literal(value.data)
        if isinstance(value, Quoted)
        else value.text
        for value in reserved.values
    )
    return f"reserved {', '.join(values)};\n"


def _print_range(numbers: Range, number_max: int) -> str:
    if numbers.first == numbers.last:
        return str(numbers.first)
    return f"{numbers.first} to {'max' if numbers.last == number_max else numbers.last}"


def _print_enum(enum: Enum) -> str:
    body = "".join(indent(_print_reserved(one, ENUM_NUMBER_MAX)) for one in enum.reserved)
    body += "".join(indent(print_statement(option)) for option in enum.options)
    body += "".join(indent(_print_constant(constant)) for constant in enum.constants)
    newline = "\n" if body else ""
    return f"{_word(enum.visibility)}enum {enum.name} {{{newline}{body}}}\n"


def _print_constant(constant: EnumConstant) -> str:
    return f"{constant.name} = {constant.number}{print_bracketed(constant.options)};\n"


def _print_service(service: Service) -> str:
    body = _section(service.options, print_statement) + _section(service.rpcs, _print_rpc)
    return f"service {service.name} {{{body}}}\n"


def _print_rpc(rpc: Rpc) -> str:
    request = ("stream " if rpc.is_request_stream else "") + rpc.request
    response = ("stream " if rpc.is_response_stream else "") + rpc.response
    options = "".join(indent(print_statement(option)) for option in rpc.options)
    body = f" {{\n{options}}}" if options else ""
    return f"rpc {rpc.name} ({request}) returns ({response}){body};\n"
