"""Records of `__consumer_offsets` and `__transaction_state` as JSON, as Apache's formatters for them write it.

A record's key begins with a number that says what it is; its value begins with its version. Each record is one object,
without a line end between them, because Apache's formatters write none.
"""

import importlib
import json
from typing import TYPE_CHECKING, Final

from ottla.cli.log_files.message_json import message_to_json
from ottla.protocol.codec import decode
from ottla.protocol.schema import Message

if TYPE_CHECKING:
    from ottla.client import Record

_VERSION_BYTES: Final = 2
_MESSAGES: Final = "ottla.protocol.messages"

# The key's number, and the name of the pair of messages. Number 0 is an offset's older key, which looks the same.
OFFSETS: Final = {0: "offset_commit", 1: "offset_commit"}
GROUPS: Final = {2: "group_metadata"}
TRANSACTIONS: Final = {0: "transaction_log"}


def coordinator_json(record: "Record", kinds: dict[int, str]) -> bytes:
    """The record, or nothing if it is of another kind."""
    key, value = record.key, record.value
    if key is None or len(key) < _VERSION_BYTES:
        return b""
    number = int.from_bytes(key[:_VERSION_BYTES], "big")
    if number not in kinds:
        return b""
    name = kinds[number]
    shown: dict[str, object] = {"key": {"type": number, "data": _decoded(f"{name}_key", key, 0)}}
    if value is None:
        shown["value"] = None
    else:
        version = int.from_bytes(value[:_VERSION_BYTES], "big")
        shown["value"] = {"version": version, "data": _decoded(f"{name}_value", value, version)}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()


def _decoded(module: str, data: bytes, version: int) -> object:
    class_name = "".join(word.capitalize() for word in module.split("_"))
    cls: type[Message] = getattr(importlib.import_module(f"{_MESSAGES}.{module}"), class_name)
    if version not in cls.VERSIONS:
        return "unknown"
    return message_to_json(decode(cls, data[_VERSION_BYTES:], version), version)
