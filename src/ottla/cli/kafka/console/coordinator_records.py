"""Records of `__consumer_offsets` and `__transaction_state` as JSON, as Apache's formatters for them write it.

Each record is one object, without a line end between them, because Apache's formatters write none.
"""

import json
from typing import TYPE_CHECKING

from ottla.cli.log.coordinator_records import RecordTypes, UnknownType
from ottla.cli.log.message_json import message_to_json

if TYPE_CHECKING:
    from ottla.client import Record


def coordinator_json(record: "Record", types: RecordTypes) -> bytes:
    """The record, or nothing if it is of another type; ValueError if its bytes do not fit its type."""
    if record.key is None:
        return b""
    try:
        found = types.decode(record.key, record.value)
    except UnknownType:
        return b""
    shown: dict[str, object] = {"key": {"type": found.type, "data": message_to_json(found.key, 0)}, "value": None}
    if found.version is not None:
        data = "unknown" if found.value is None else message_to_json(found.value, found.version)
        shown["value"] = {"version": found.version, "data": data}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode()
