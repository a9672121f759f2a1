"""Messages as JSON in the form of Kafka's own converters: camel case, ids in base64, bytes in base64.

A tagged field is left out when it has its default; every other field of the version is there.
"""

from base64 import b64encode
from typing import Any

from ottla.protocol.field_table import Field, fields_in
from ottla.protocol.schema import Message
from ottla.protocol.uuids import uuid_to_text


def message_to_json(message: Message, version: int) -> dict[str, object]:
    """The message's fields in that version."""
    cls = type(message)
    shown: dict[str, object] = {}
    present = {field.name: field for field in fields_in(cls, version)}
    # In the order of the definition, which is not that of the bytes.
    for name, *_ in cls.FIELDS:
        field = present.get(name)
        if field is None:
            continue
        value = getattr(message, name)
        if field.tag < 0 or not _is_default(cls, field, value):
            shown[camel_case(name)] = _value(value, field.element_type, version)
    return shown


def camel_case(name: str) -> str:
    """`last_known_elr` as `lastKnownElr`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _is_default(cls: type[Message], field: Field, value: Any) -> bool:
    if field.is_struct and field.is_nullable:
        # The default is an empty struct, so that null has to be told.
        return False
    default = getattr(cls(), field.name)
    if field.is_array and value is not None and default is not None:
        return len(value) == len(default) == 0
    return bool(value == default)


def _value(value: Any, kind: str, version: int) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_value(element, kind, version) for element in value]
    if isinstance(value, Message):
        return message_to_json(value, version)
    return uuid_to_text(value) if kind == "uuid" else b64encode(value).decode()
