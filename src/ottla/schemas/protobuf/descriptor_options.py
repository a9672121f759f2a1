"""The options in a descriptor, as declarations.

Custom options are extensions of protobuf's own option messages, known to the pool that has the file which declares
them. Their order is Confluent's: options of the language in an order of its own, its own custom options, others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from ottla.schemas.protobuf.elements import Aggregate, Listed, Option, OptionValue, Quoted, Word

_ORDER: Final = (
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "go_package",
    "cc_generic_services",
    "java_generic_services",
    "py_generic_services",
    "php_generic_services",
    "ctype",
    "packed",
    "jstype",
    "no_standard_descriptor_accessor",
    "allow_alias",
    "deprecated",
    "idempotency_level",
    "map_entry",
    "cc_enable_arenas",
    "objc_class_prefix",
    "csharp_namespace",
    "swift_prefix",
    "php_class_prefix",
    "php_namespace",
    "php_metadata_namespace",
    "ruby_package",
)
_RANKS: Final = {name: rank for rank, name in enumerate(_ORDER)}
# Confluent writes the entries of these parameters with the value first.
_VALUE_FIRST: Final = ("precision", "scale")
_TEXT_TYPES: Final = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def read_descriptor_options(options: Message) -> tuple[Option, ...]:
    return tuple(
        option
        for field, value in sorted(options.ListFields(), key=lambda item: _rank(item[0]))
        if field.name != "uninterpreted_option"
        for option in _options_of(field, value)
    )


def _rank(field: FieldDescriptor) -> tuple[int, int, int]:
    if field.is_extension:
        return (1, 0 if field.full_name.startswith("confluent.") else 1, field.number)
    return (0, _RANKS.get(field.name, len(_RANKS)), field.number)


def _options_of(field: FieldDescriptor, value: Any) -> Iterator[Option]:
    values = _repeated(field, value) if field.is_repeated else [_value(field, value)]
    for one in values:
        if field.is_extension:
            yield Option(field.full_name, one, is_custom=True)
        else:
            yield Option(field.name, one)


def _repeated(field: FieldDescriptor, value: Any) -> list[OptionValue]:
    entry = field.message_type
    if entry is None or not entry.GetOptions().map_entry:
        return [_value(field, one) for one in value]
    key, item = entry.fields_by_name["key"], entry.fields_by_name["value"]
    # A map in memory has no order: sorted, it is the same every time.
    return [_entry((("key", _value(key, one)), ("value", _value(item, value[one])))) for one in sorted(value)]


def _entry(items: tuple[tuple[str, OptionValue], ...]) -> OptionValue:
    if items[0][1] in [Quoted(name.encode()) for name in _VALUE_FIRST]:
        items = items[::-1]
    return Aggregate(items)


def _value(field: FieldDescriptor, value: Any) -> OptionValue:
    if field.message_type is not None:
        return Aggregate(tuple(_items(value.ListFields())))
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return Word(str(value) if named is None else named.name)
    if field.type in _TEXT_TYPES:
        return Quoted(value.encode() if isinstance(value, str) else value)
    if isinstance(value, bool):
        return Word("true" if value else "false")
    return Word(repr(value))


def _items(fields: Iterable[tuple[FieldDescriptor, Any]]) -> Iterator[tuple[str, OptionValue]]:
    for field, value in fields:
        key = f"[{field.full_name}]" if field.is_extension else field.name
        yield key, Listed(tuple(_repeated(field, value))) if field.is_repeated else _value(field, value)
