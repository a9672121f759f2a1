"""Records as JSON, without losing anything: what `consume -o jsonl` writes, `produce --jsonl` reads.

    {"topic": "t", "partition": 0, "offset": 7, "timestamp_ms": 1718000000000, "timestamp_type": "create",
     "key": "k", "value": {"base64": "/w=="}, "headers": [{"key": "a", "value": null}]}

A key, a value or a header's value is text if its bytes are UTF-8, an object with their base64 if not, and null if
there is none. Headers are a list, because their order counts and names may come twice. A marker of a transaction has
`control` with what it says.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client import Record
    from ottla.protocol.records import Headers

_CONTROL_NAMES: Final = {0: "abort", 1: "commit"}
_KNOWN: Final = frozenset(
    {"topic", "partition", "offset", "timestamp_ms", "timestamp_type", "key", "value", "headers", "control"}
)


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record to be written; what is None is for the producer to decide, but a null key or value is one."""

    value: bytes | None
    key: bytes | None = None
    headers: "Headers" = ()
    partition: int | None = None
    timestamp_ms: int | None = None


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


def json_line(record: "Record") -> bytes:
    """The record as one line."""
    return json.dumps(json_of(record), ensure_ascii=False).encode() + b"\n"


def record_of_json(line: bytes) -> InputRecord:
    """The record of a line; ValueError says what is wrong with it."""
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
    return InputRecord(
        _bytes(row["value"], "value"),
        _bytes(row.get("key"), "key"),
        _headers(row.get("headers")),
        _number(row.get("partition"), "partition"),
        _number(row.get("timestamp_ms"), "timestamp_ms"),
    )


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
