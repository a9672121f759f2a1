"""What a schema is before anybody has read it: its type, its text, and what it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SchemaType(StrEnum):
    """The formats, by Confluent's names."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Reference:
    """A version of a subject, under the name by which the schema speaks of it: a full name in Avro, a URI in JSON
    Schema, the path of an import in Protobuf."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    text: str
    type: SchemaType = SchemaType.AVRO
    references: tuple[Reference, ...] = ()
