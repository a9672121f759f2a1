"""Messages of the protocol and records of internal topics as JSON, in the spelling of Kafka's own converters.

Names are camelCase, bytes are base64, ids are Kafka's 22 letters; a field of another version is left out, and so is a
tagged one that has its default.
"""

import base64
from typing import Final

from ottla.protocol.schema import Message, version_bounds
from ottla.protocol.uuids import uuid_to_text

_UNTAGGED: Final = -1


def message_json(message: Message, version: int) -> dict[str, object]:
    """The message as a version of it has it."""
    shown: dict[str, object] = {}
    default = None
    for name, kind, versions, _, tag, tagged in message.FIELDS:
        low, high = version_bounds(versions)
        if not low <= version <= high:
            continue
        value = getattr(message, name)
        tagged_low, tagged_high = version_bounds(tagged)
        if tag != _UNTAGGED and tagged_low <= version <= tagged_high:
            default = default or type(message)()
            if value == getattr(default, name):
                continue
        shown[_camel_case(name)] = _value(value, kind, version)
    return shown


def _value(value: object, kind: str, version: int) -> object:
    if isinstance(value, Message):
        return message_json(value, version)
    if isinstance(value, list | tuple):
        return [_value(item, kind.removeprefix("[]"), version) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return uuid_to_text(bytes(value)) if kind == "uuid" else base64.b64encode(value).decode()
    return value


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
