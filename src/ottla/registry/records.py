"""The records of topic `_schemas`, in Confluent's form: a dump of either registry loads in the other.

Keys are compared by their bytes when the topic is compacted, so they are the same byte for byte: compact JSON with its
fields in this order. Values are JSON objects of which unknown fields are kept. None is a tombstone.

    SCHEMA          a version of a subject; None when it is deleted for good
    CONFIG, MODE    settings of a subject, of a context (`:.context:`), or of the whole registry (null)
    DELETE_SUBJECT  all versions up to one are deleted softly
    CLEAR_SUBJECT   what was deleted softly is forgotten
    CONTEXT         a context exists
    NOOP            nothing: a leader writes it to find out where the topic ends
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ottla.registry.identity import Json
from ottla.registry.strict_json import read_json, write_json

_TENANT: Final = "default"


class DamagedRecord(ValueError):
    """A record that is not one of a registry's; it is skipped."""


@dataclass(frozen=True, slots=True)
class SchemaKey:
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class ConfigKey:
    # None is the whole registry.
    subject: str | None


@dataclass(frozen=True, slots=True)
class ModeKey:
    subject: str | None


@dataclass(frozen=True, slots=True)
class DeleteSubjectKey:
    subject: str


@dataclass(frozen=True, slots=True)
class ClearSubjectKey:
    subject: str | None


@dataclass(frozen=True, slots=True)
class ContextKey:
    context: str


@dataclass(frozen=True, slots=True)
class NoopKey:
    pass


Key = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | NoopKey
_NAMES: Final[dict[type, str]] = {
    SchemaKey: "SCHEMA",
    ConfigKey: "CONFIG",
    ModeKey: "MODE",
    DeleteSubjectKey: "DELETE_SUBJECT",
    ClearSubjectKey: "CLEAR_SUBJECT",
    ContextKey: "CONTEXT",
    NoopKey: "NOOP",
}


@dataclass(frozen=True, slots=True)
class Record:
    key: Key
    value: Json | None


def context_record(context: str) -> Record:
    """Says that a context exists."""
    return Record(ContextKey(context), {"tenant": _TENANT, "context": context})


def encode_key(key: Key) -> bytes:
    fields: dict[str, Any] = {"keytype": _NAMES[type(key)]}
    magic = 0
    if isinstance(key, SchemaKey):
        fields |= {"subject": key.subject, "version": key.version}
        magic = 1
    elif isinstance(key, ContextKey):
        fields |= {"tenant": _TENANT, "context": key.context}
    elif not isinstance(key, NoopKey):
        fields["subject"] = key.subject
    return write_json(fields | {"magic": magic})


def encode_value(value: Json | None) -> bytes | None:
    return None if value is None else write_json(value)


def decode_record(key: bytes | None, value: bytes | None) -> Record:
    """DamagedRecord if it is not one of these."""
    fields = _object(key, "key")
    decoded = None if value is None else _object(value, "value")
    kind = fields.get("keytype")
    if kind == "NOOP":
        return Record(NoopKey(), decoded)
    if kind == "CONTEXT":
        return Record(ContextKey(_text(fields, "context")), decoded)
    if kind == "SCHEMA":
        version = fields.get("version")
        if type(version) is not int or version < 1:
            raise DamagedRecord(f"a schema with version {version!r}")
        return Record(SchemaKey(_text(fields, "subject"), version), decoded)
    if kind == "DELETE_SUBJECT":
        return Record(DeleteSubjectKey(_text(fields, "subject")), decoded)
    scope = None if fields.get("subject") is None else _text(fields, "subject")
    if kind == "CONFIG":
        return Record(ConfigKey(scope), decoded)
    if kind == "MODE":
        return Record(ModeKey(scope), decoded)
    if kind == "CLEAR_SUBJECT":
        return Record(ClearSubjectKey(scope), decoded)
    raise DamagedRecord(f"a key of unknown type {kind!r}")


def _object(data: bytes | None, what: str) -> dict[str, Any]:
    if data is None:
        raise DamagedRecord(f"no {what}")
    try:
        fields = read_json(data)
    except ValueError as error:
        raise DamagedRecord(f"a {what} that is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise DamagedRecord(f"a {what} that is no JSON object")
    return fields


def _text(fields: Json, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise DamagedRecord(f"a key whose {name} is {value!r}")
    return value
