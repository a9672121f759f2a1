"""Where a message is in its file, as records say it: the index of the outermost message, then of those within it.

Messages are counted as the registry's text has them, which is what Java's clients count when they read. So a message
for the entries of a map counts if the text declares it, and not if the text has `map<...>`; groups do not count. Only
messages within messages are concerned: a client that registers a descriptor gets a text with such messages, and counts
as that text does.
"""

from __future__ import annotations

from ottla.schemas.errors import SchemaError
from ottla.schemas.protobuf.elements import Message, ProtoFile


def name_at(file: ProtoFile, indexes: tuple[int, ...]) -> str:
    """The full name of the message in a place; SchemaError if there is none."""
    parts = [] if file.package is None else [file.package]
    messages = file.messages
    for index in indexes:
        if not 0 <= index < len(messages):
            raise SchemaError(
                f"no message at {list(indexes)}: {'.'.join(parts) or 'the file'} has {len(messages)} messages"
            )
        parts.append(messages[index].name)
        messages = messages[index].messages
    if not indexes:
        raise SchemaError("no indexes: the place of a message is at least one number")
    return ".".join(parts)


def indexes_of(file: ProtoFile, full_name: str) -> tuple[int, ...]:
    """The place of a message by its full name; SchemaError if the file does not declare it."""
    prefix = "" if file.package is None else f"{file.package}."
    indexes: list[int] = []
    messages: tuple[Message, ...] = file.messages
    for name in full_name.removeprefix(prefix).split("."):
        found = [index for index, message in enumerate(messages) if message.name == name]
        if not found or not full_name.startswith(prefix):
            raise SchemaError(f"the schema declares no message {full_name}")
        indexes.append(found[0])
        messages = messages[found[0]].messages
    return tuple(indexes)
