"""Maps that are written as what they are: a repeated message with a key and a value.

A descriptor has a message for the entries of each map, and so has the text that Confluent's registry makes from a
descriptor, since clients count it when they write which message a record is. No compiler takes such a text: for it,
these messages become `map<...>` again.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from dataclasses import replace

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.elements import Field, Group, Message, OneOf, ProtoFile


def fold_maps(file: ProtoFile) -> ProtoFile:
    """The same file with `map<...>` in place of messages for entries."""
    return replace(file, messages=tuple(map(_fold_message, file.messages)))


def has_entries(file: ProtoFile) -> bool:
    return any(map(_has_entries, file.messages))


def _has_entries(message: Message) -> bool:
    return any(nested.is_map_entry or _has_entries(nested) for nested in message.messages)


def _fold_message(message: Message) -> Message:
    entries = {nested.name: _map_type(nested) for nested in message.messages if nested.is_map_entry}
    return replace(
        message,
        fields=tuple(_fold_field(field, entries) for field in message.fields),
        one_ofs=tuple(map(_fold_one_of, message.one_ofs)),
        groups=tuple(map(_fold_group, message.groups)),
        messages=tuple(_fold_message(nested) for nested in message.messages if not nested.is_map_entry),
    )


def _fold_one_of(one_of: OneOf) -> OneOf:
    return replace(one_of, groups=tuple(map(_fold_group, one_of.groups)))


def _fold_group(group: Group) -> Group:
    return replace(group, message=_fold_message(group.message))


def _fold_field(field: Field, entries: Mapping[str, str]) -> Field:
    # The entries of a map are always a message within the message that has the map.
    entry = field.type.rpartition(".")[2]
    if field.label != "repeated" or entry not in entries:
        return field
    return replace(field, label=None, type=entries[entry])


def _map_type(entry: Message) -> str:
    types = {field.tag: field.type for field in entry.fields}
    if types.keys() != {1, 2}:
        raise InvalidSchema(f"{entry.name} has the option map_entry, but not a field 1 for keys and 2 for values")
    return f"map<{types[1]}, {types[2]}>"


def restore_order(descriptor: FileDescriptorProto, file: ProtoFile) -> None:
    """Puts the messages for entries where the text had them, so that the others keep their indexes."""
    _restore(descriptor.message_type, file.messages)


def _restore(descriptors: MutableSequence[DescriptorProto], messages: tuple[Message, ...]) -> None:
    by_name = {message.name: message for message in messages}
    for descriptor in descriptors:
        message = by_name.get(descriptor.name)
        if message is None:
            continue
        order = {nested.name: index for index, nested in enumerate(message.messages)}
        nested = sorted(descriptor.nested_type, key=lambda one: order.get(one.name, -1))
        copies = [type(one).FromString(one.SerializeToString()) for one in nested]
        del descriptor.nested_type[:]
        descriptor.nested_type.extend(copies)
        _restore(descriptor.nested_type, message.messages)
