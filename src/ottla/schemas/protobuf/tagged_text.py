"""Tags in Protobuf: `tags` in the options `(confluent.message_meta)` and `(confluent.field_meta)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from ottla.schemas.protobuf.element_printer import print_file
from ottla.schemas.protobuf.element_reader import read_elements
from ottla.schemas.protobuf.elements import Aggregate, Field, Import, Listed, Message, Option, OptionValue, Quoted
from ottla.schemas.tagging import Entity, Tags

_OF_MESSAGES: Final = "confluent.message_meta"
_OF_FIELDS: Final = "confluent.field_meta"
_KEY: Final = "tags"
_IMPORT: Final = Import("confluent/meta.proto")

_Element = TypeVar("_Element", Message, Field)


class TaggedProtobuf:
    def __init__(self, text: str) -> None:
        self._file = read_elements(text)

    def find(self) -> dict[Entity, list[str]]:
        return {entity: tags for message in self._file.messages for entity, tags in _found(message, "")}

    def replace(self, tags: Tags) -> str:
        imports = self._file.imports
        if any(tags.values()) and _IMPORT not in imports:
            imports = (*imports, _IMPORT)
        messages = tuple(_replaced(one, "", tags) for one in self._file.messages)
        return print_file(replace(self._file, imports=imports, messages=messages))


def _found(message: Message, before: str) -> Iterator[tuple[Entity, list[str]]]:
    path = f"{before}{message.name}"
    yield Entity(path, is_record=True), _tags_in(message.options, _OF_MESSAGES)
    for field in (*message.fields, *(field for one_of in message.one_ofs for field in one_of.fields)):
        yield Entity(f"{path}.{field.name}", is_record=False), _tags_in(field.options, _OF_FIELDS)
    for inner in message.messages:
        yield from _found(inner, f"{path}.")


def _replaced(message: Message, before: str, tags: Tags) -> Message:
    path = f"{before}{message.name}"

    def tag(field: Field) -> Field:
        return _tagged(field, tags, Entity(f"{path}.{field.name}", is_record=False), _OF_FIELDS)

    one_ofs = tuple(replace(one, fields=tuple(map(tag, one.fields))) for one in message.one_ofs)
    inner = tuple(_replaced(one, f"{path}.", tags) for one in message.messages)
    changed = replace(message, fields=tuple(map(tag, message.fields)), one_ofs=one_ofs, messages=inner)
    return _tagged(changed, tags, Entity(path, is_record=True), _OF_MESSAGES)


def _tagged(element: _Element, tags: Tags, entity: Entity, option: str) -> _Element:
    if entity not in tags:
        return element
    return replace(element, options=tuple(_with_tags(element.options, option, tags[entity])))


def _with_tags(options: tuple[Option, ...], name: str, tags: Sequence[str]) -> Iterator[Option]:
    """What else the option says stays."""
    wanted = [Quoted(tag.encode()) for tag in tags]
    items: tuple[tuple[str, OptionValue], ...] = ()
    for option in options:
        if option.name != name or not option.is_custom:
            yield option
        elif isinstance(option.value, Aggregate) and not option.rest:
            items = tuple((key, value) for key, value in option.value.items if key != _KEY)
        elif option.rest != f".{_KEY}":
            yield option
    if wanted:
        value = wanted[0] if len(wanted) == 1 else Listed(tuple(wanted))
        items = (*items, (_KEY, value))
    if items:
        yield Option(name, Aggregate(items), is_custom=True)


def _tags_in(options: tuple[Option, ...], name: str) -> list[str]:
    found: list[str] = []
    for option in options:
        if option.name != name or not option.is_custom:
            continue
        if option.rest == f".{_KEY}":
            found += _texts(option.value)
        elif isinstance(option.value, Aggregate):
            found += [text for key, value in option.value.items if key == _KEY for text in _texts(value)]
    return found


def _texts(value: OptionValue) -> list[str]:
    values = value.values if isinstance(value, Listed) else (value,)
    return [one.data.decode(errors="replace") for one in values if isinstance(one, Quoted)]
