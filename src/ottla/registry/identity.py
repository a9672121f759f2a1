"""What makes two schemas the same one: text, references, metadata and rules. Their digest is the schema's guid.

Confluent's registry computes the same guid, so it names the same schema in every registry that has it. Attributes of
metadata and rules go into the digest in the order of their names, whatever order they were given in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from ottla.schemas.schema import Schema

Json = Mapping[str, Any]

KINDS_OF_RULES: Final = ("migrationRules", "domainRules", "encodingRules")
# Keeps "no metadata" apart from "metadata without contents".
_PRESENT: Final = b"\1"


def schema_guid(schema: Schema, metadata: Json | None, rule_set: Json | None) -> UUID:
    digest = hashlib.md5(schema.text.encode(), usedforsecurity=False)
    for reference in schema.references:
        digest.update(reference.name.encode() + reference.subject.encode() + reference.version.to_bytes(4, signed=True))
    if metadata is not None:
        digest.update(_PRESENT + b"".join(_metadata(metadata)))
    if rule_set is not None:
        digest.update(_PRESENT + b"".join(_rules(rule_set)))
    return UUID(bytes=digest.digest())


def _metadata(metadata: Json) -> Iterator[bytes]:
    for name, values in sorted(_mapping(metadata.get("tags")).items()):
        yield name.encode()
        yield from _texts(sorted(set(map(str, values))))
    yield from _pairs(metadata.get("properties"))
    yield from _texts(sorted(set(map(str, metadata.get("sensitive") or ()))))


def _rules(rule_set: Json) -> Iterator[bytes]:
    for kind in KINDS_OF_RULES:
        for rule in rule_set.get(kind) or ():
            yield from _texts(rule.get(name) for name in ("name", "doc", "kind", "mode", "type"))
            yield from _texts(sorted(set(map(str, rule.get("tags") or ()))))
            yield from _pairs(rule.get("params"))
            yield from _texts(rule.get(name) for name in ("expr", "onSuccess", "onFailure"))
            if rule.get("disabled"):
                yield _PRESENT


def _pairs(mapping: Json | None) -> Iterator[bytes]:
    for name, value in sorted(_mapping(mapping).items()):
        yield from _texts((name, value))


def _texts(values: Sequence[Any] | Iterator[Any]) -> Iterator[bytes]:
    return (str(value).encode() for value in values if value is not None)


def _mapping(value: Json | None) -> Json:
    return {} if value is None else value
