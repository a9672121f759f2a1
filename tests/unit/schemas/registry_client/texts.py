"""Schemas of the three formats that the tests of this package register."""

from ottla.schemas.schema import Schema, SchemaType

AVRO = Schema('{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
JSON = Schema('{"type":"object","properties":{"a":{"type":"integer"}}}', SchemaType.JSON)
PROTOBUF = Schema(
    'syntax = "proto3";\npackage p;\nmessage R {\n  int32 a = 1;\n}\nmessage S {\n  string b = 1;\n}\n',
    SchemaType.PROTOBUF,
)
EVERY = {"AVRO": AVRO, "JSON": JSON, "PROTOBUF": PROTOBUF}
