"""Records as JSON, without losing anything: what `consume -o jsonl` writes, `produce --jsonl` reads.

    {"topic": "t", "partition": 0, "offset": 7, "timestamp_ms": 1718000000000, "timestamp_type": "create",
     "key": "k", "value": {"base64": "/w=="}, "headers": [{"key": "a", "value": null}]}

A key, a value or a header's value is text if its bytes are UTF-8, an object with their base64 if not, and null if
there is none. Headers are a list, because their order counts and names may come twice. A marker of a transaction has
`control` with what it says.

With a registry, keys and values that were decoded are JSON, and `key_schema_id` and `value_schema_id` say with which
schema; where it stood in a header, `..._schema_guid` does. `..._message` is the message of Protobuf.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from ottla.client import Record
    from ottla.protocol.records import Headers

_CONTROL_NAMES: Final = {0: "abort", 1: "commit"}
_SCHEMA_WORDS: Final = ("schema_id", "schema_guid", "message")
_KNOWN: Final = frozenset(
    {"topic", "partition", "offset", "timestamp_ms", "timestamp_type", "key", "value", "headers", "control"}
    | {f"{part}_{word}" for part in ("key", "value") for word in _SCHEMA_WORDS}
)


@dataclass(frozen=True, slots=True)
class SchemaName:
    """The schema of a registry that a key or a value is written with, by its id or its guid."""

    id: int | None
    guid: UUID | None = None
    # Of Protobuf.
    message: str | None = None


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record to be written; what is None is for the producer to decide, but a null key or value is one."""

    value: bytes | None
    key: bytes | None = None
    headers: "Headers" = ()
    partition: int | None = None
    timestamp_ms: int | None = None
    # With one, the key or value is JSON that is yet to be encoded.
    key_schema: SchemaName | None = None
    value_schema: SchemaName | None = None


def json_of(record: "Record") -> dict[str, object]:
    """The record as JSON values."""
    row: dict[str, object] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "timestamp_type": "log_append" if record.timestamp_type else "create",
        "key": _shown(record.key),
        "value": _shown(record.value),
        "headers": [{"key": name, "value": _shown(value)} for name, value in record.headers],
    }
    if record.batch.is_control:
        row["control"] = control_name(record)
    return row


def control_name(record: "Record") -> str:
    """What a marker says: abort, commit, or the number of another kind."""
    from ottla.protocol.control_records import parse_control_key

    number = parse_control_key(record.key)
    return _CONTROL_NAMES.get(number, str(number))


def json_text(value: object, *, indent: int | None = None, is_compact: bool = False) -> bytes:
    """A value in UTF-8. Halves of surrogate pairs, which JSON may have and UTF-8 not, stay escaped."""
    separators = (",", ":") if is_compact else None
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, separators=separators).encode()


def record_of_json(line: bytes, *, key_is_json: bool = False, value_is_json: bool = False) -> InputRecord:
    """The record of a line; ValueError says what is wrong with it.

    A key or value that is JSON, because the caller or the line itself says so, is to be encoded.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object: write one object for each record")
    unknown = sorted(row.keys() - _KNOWN)
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a field of a record: there are {', '.join(sorted(_KNOWN))}")
    if "value" not in row:
        raise ValueError('there is no "value": write null for a tombstone')
    if "control" in row:
        raise ValueError("a marker of a transaction cannot be produced: read without --control")
    value_schema, key_schema = _schema_name(row, "value"), _schema_name(row, "key")
    return InputRecord(
        _part(row["value"], "value", is_json=value_is_json, schema=value_schema),
        _part(row.get("key"), "key", is_json=key_is_json, schema=key_schema),
        _headers(row.get("headers")),
        _number(row.get("partition"), "partition"),
        _number(row.get("timestamp_ms"), "timestamp_ms"),
        key_schema,
        value_schema,
    )


def _schema_name(row: dict[str, object], part: str) -> SchemaName | None:
    schema_id, guid, message = (row.get(f"{part}_{word}") for word in _SCHEMA_WORDS)
    if schema_id is None and guid is None:
        return None
    try:
        return SchemaName(
            _number(schema_id, f"{part}_schema_id"),
            None if guid is None else UUID(str(guid)),
            None if message is None else str(message),
        )
    except ValueError:
        raise ValueError(f"{part}_schema_id is a whole number, and {part}_schema_guid a guid") from None


def _part(given: object, name: str, *, is_json: bool, schema: SchemaName | None) -> bytes | None:
    """A null is a tombstone, unless the line says that it was written with a schema."""
    if schema is not None or (is_json and given is not None):
        return json_text(given)
    return _bytes(given, name)


def _shown(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(given: object, name: str) -> bytes | None:
    if given is None:
        return None
    try:
        if isinstance(given, str):
            return given.encode()
        if isinstance(given, dict) and given.keys() == {"base64"} and isinstance(given["base64"], str):
            return base64.b64decode(given["base64"], validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    raise ValueError(f'{name} is neither text, null nor {{"base64": "..."}}: put JSON into a string')


def _headers(given: object) -> "Headers":
    if given is None:
        return ()
    pairs = list(given.items()) if isinstance(given, dict) else _header_rows(given)
    for name, _ in pairs:
        if not isinstance(name, str):
            raise ValueError(f"header {name!r} has no name: it is text")
        _bytes(name, "a header's name")
    return tuple((name, _bytes(value, f"header {name!r}")) for name, value in pairs)


def _header_rows(given: object) -> list[tuple[str, object]]:
    if not isinstance(given, list) or not all(isinstance(row, dict) and "key" in row for row in given):
        raise ValueError('headers are a list of {"key": ..., "value": ...}, or an object')
    return [(row["key"], row.get("value")) for row in given]


def _number(given: object, name: str) -> int | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63):
        return given
    raise ValueError(f"{name} {given!r} is not a whole number")
