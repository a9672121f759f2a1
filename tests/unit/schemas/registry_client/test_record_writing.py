import pytest

from ottla.schemas.errors import SchemaError, UnwritableValue
from ottla.schemas.framing import frame, header_of
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.record_writing import Encoded, RecordWriter
from ottla.schemas.registry_client.registered import RegisteredSchema
from unit.schemas.registry_client.texts import AVRO, PROTOBUF


def registered(known: KnownSchemas, subject: str) -> RegisteredSchema:
    known.client.register(subject, AVRO)
    return known.client.version(subject)


def test_the_id_stands_in_front_or_the_guid_in_a_header(known: KnownSchemas) -> None:
    schema = registered(known, "written")
    assert schema.id is not None
    assert schema.guid is not None
    assert RecordWriter(known, schema).write({"a": 1}) == Encoded(frame(schema.id, b"\2"))
    assert RecordWriter(known, schema, in_header=True).write({"a": 1}) == Encoded(b"\2", header_of(schema.guid))


def test_protobuf_says_which_message_it_is(known: KnownSchemas) -> None:
    schema = RegisteredSchema(PROTOBUF, 7)
    assert RecordWriter(known, schema).write({"a": 1}).data == frame(7, b"\0\x08\1")
    assert RecordWriter(known, schema, message="p.S").write({"b": "x"}).data == frame(7, b"\2\2\x0a\1x")
    with pytest.raises(SchemaError):
        RecordWriter(known, schema, message="p.Nothing")


def test_a_value_that_does_not_fit_is_refused(known: KnownSchemas) -> None:
    for from_json in (False, True):
        with pytest.raises(UnwritableValue, match="/a"):
            RecordWriter(known, RegisteredSchema(AVRO, 7), from_json=from_json).write({"a": "x"})


def test_what_records_cannot_be_found_by_is_told(known: KnownSchemas) -> None:
    with pytest.raises(SchemaError, match="no id"):
        RecordWriter(known, RegisteredSchema(AVRO))
    with pytest.raises(SchemaError, match="no guid"):
        RecordWriter(known, RegisteredSchema(AVRO, 7), in_header=True)
    with pytest.raises(SchemaError, match="message of Protobuf"):
        RecordWriter(known, RegisteredSchema(AVRO, 7), message="p.R")
