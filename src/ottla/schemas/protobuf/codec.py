"""Values to messages to bytes, and back.

A value is a dict as protobuf's JSON mapping has it, under the names of the fields in the schema: 64-bit integers may be
texts, bytes are base64 (or bytes: protobuf would take these for base64 too), enums go by name, times are RFC 3339. The
way back gives the same form: 64-bit integers and bytes as texts, numbers of enums that the schema does not know as
integers, and a value for every field that does not record whether it was set (those of proto3, lists and maps). What a
reader's schema does not have is left out.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from ottla.schemas.errors import UnreadableData, UnwritableValue
from ottla.schemas.format import Decode, Encode

# As deep as protobuf's own parsers go.
_DEPTH_MAX: Final = 100
_SHOWN_MAX: Final = 200


def encoder_of(descriptor: Descriptor, pool: DescriptorPool) -> Encode:
    """Takes dicts, and messages of the same full name. Raises UnwritableValue."""
    message_class = GetMessageClass(descriptor)
    has_bytes = _has_bytes(descriptor)

    def encode(value: object) -> bytes:
        if has_bytes:
            value = _with_base64(value)
        try:
            data: bytes = _message_of(value, message_class, pool).SerializeToString(deterministic=True)
        except EncodeError as error:
            raise UnwritableValue(f"{descriptor.full_name}: {error}") from None
        return data

    return encode


def decoder_of(descriptor: Descriptor, pool: DescriptorPool) -> Decode:
    """Raises UnreadableData."""
    message_class = GetMessageClass(descriptor)

    def decode(data: bytes) -> object:
        try:
            message = message_class.FromString(data)
        except DecodeError as error:
            raise UnreadableData(f"{len(data)} bytes are no {descriptor.full_name}: {error}") from None
        missing = message.FindInitializationErrors()
        if missing:
            raise UnreadableData(f"{descriptor.full_name} lacks required fields: {', '.join(missing)}")
        return _value_of(message, pool)

    return decode


def _message_of(value: object, message_class: type[Message], pool: DescriptorPool) -> Message:
    name = message_class.DESCRIPTOR.full_name
    if isinstance(value, Message):
        if value.DESCRIPTOR.full_name != name:
            raise UnwritableValue(f"the schema's message is {name}, and the value is a {value.DESCRIPTOR.full_name}")
        return value
    if not isinstance(value, Mapping):
        raise UnwritableValue(f"{_shown(value)} is no {name}: it takes a dict of its fields, or a message")
    try:
        return json_format.ParseDict(dict(value), message_class(), descriptor_pool=pool, max_recursion_depth=_DEPTH_MAX)
    except (json_format.Error, TypeError, ValueError, AttributeError, KeyError, RecursionError) as error:
        raise UnwritableValue(f"{_shown(value)} is no {name}: {error}") from None


def _has_bytes(descriptor: Descriptor) -> bool:
    """Whether values of a message may have bytes somewhere."""
    waiting = [descriptor]
    seen = {descriptor.full_name}
    while waiting:
        message = waiting.pop()
        for field in message.fields:
            if field.type == field.TYPE_BYTES:
                return True
            if field.message_type is not None and field.message_type.full_name not in seen:
                seen.add(field.message_type.full_name)
                waiting.append(field.message_type)
    return False


def _with_base64(value: object, depth: int = 0) -> object:
    """A value with texts in place of bytes, down to where it is too deep for a message in any case."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if depth <= _DEPTH_MAX and isinstance(value, Mapping):
        return {key: _with_base64(one, depth + 1) for key, one in value.items()}
    if depth <= _DEPTH_MAX and isinstance(value, list | tuple):
        return [_with_base64(one, depth + 1) for one in value]
    return value


def _value_of(message: Message, pool: DescriptorPool) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json_format.MessageToDict(
            message,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
            descriptor_pool=pool,
        )
    except (json_format.Error, TypeError, ValueError, KeyError, RecursionError) as error:
        # Times out of range, and values of google.protobuf.Any of a type that the schema does not import.
        raise UnreadableData(f"{message.DESCRIPTOR.full_name} has no value: {error}") from None
    return value


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is too deep to show"
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
