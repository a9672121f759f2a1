import traceback

import pytest

from ottla.schemas.errors import SchemaError, UnreadableData
from ottla.schemas.framing import encode_indexes, frame, header_of
from ottla.schemas.registry_client import record_reading
from ottla.schemas.registry_client.errors import RegistryRefusal
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.record_reading import RecordReader
from ottla.schemas.registry_client.record_writing import RecordWriter
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.schema import Schema
from unit.schemas.registry_client.texts import AVRO, EVERY, PROTOBUF

WIDER = Schema(
    '{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":"string","default":"?"}]}'
)
DATE = Schema('{"type":"int","logicalType":"date"}')


def registered(client: RegistryClient, subject: str, schema: Schema) -> RegisteredSchema:
    client.register(subject, schema)
    return client.look_up(subject, schema)


@pytest.mark.parametrize("in_header", [False, True])
@pytest.mark.parametrize("kind", EVERY)
def test_records_are_read_by_the_id_in_front_or_the_guid_in_the_header(
    known: KnownSchemas, kind: str, in_header: bool
) -> None:
    schema = registered(known.client, f"read-{kind}", EVERY[kind])
    writer, reader = RecordWriter(known, schema, in_header=in_header), RecordReader(known)
    for number in (1, 2):
        written = writer.write({"a": number})
        read = reader.read(written.data, written.header)
        assert read.value == {"a": number}
        assert (read.schema.guid, read.schema.schema) == (schema.guid, schema.schema)


@pytest.mark.parametrize("in_header", [False, True])
def test_the_message_of_a_protobuf_record_is_the_one_that_it_names(known: KnownSchemas, in_header: bool) -> None:
    schema = registered(known.client, "messages", PROTOBUF)
    reader = RecordReader(known)
    for name, value in (("p.R", {"a": 1}), ("p.S", {"b": "x"}), ("p.R", {"a": 2})):
        written = RecordWriter(known, schema, message=name, in_header=in_header).write(value)
        assert reader.read(written.data, written.header).value == value
    assert schema.id is not None
    with pytest.raises(SchemaError):
        reader.read(frame(schema.id, encode_indexes((7,))))


def test_a_reader_sees_its_own_schema(known: KnownSchemas) -> None:
    old = registered(known.client, "evolved", AVRO)
    new = registered(known.client, "evolved", WIDER)
    read = RecordReader(known, new).read(RecordWriter(known, old).write({"a": 1}).data)
    assert (read.value, read.schema.id) == ({"a": 1, "b": "?"}, old.id)


def test_a_reader_of_another_format_is_told(known: KnownSchemas) -> None:
    data = RecordWriter(known, registered(known.client, "read-other", AVRO)).write({"a": 1}).data
    reader = RecordReader(known, registered(known.client, "read-other-pb", PROTOBUF))
    for _ in range(2):
        with pytest.raises(UnreadableData, match=r"written with AVRO schema .* read with PROTOBUF schema"):
            reader.read(data)


def test_values_of_logical_types_are_shown_as_json_if_asked(known: KnownSchemas) -> None:
    schema = registered(known.client, "as-json", DATE)
    written = RecordWriter(known, schema, from_json=True).write("2024-06-10")
    assert RecordReader(known, as_json=True).read(written.data).value == "2024-06-10"


@pytest.mark.parametrize("data", [b"", b"\0\0\0\0", b"\1\0\0\0\1", b"text"])
def test_what_is_not_framed_is_unreadable(known: KnownSchemas, data: bytes) -> None:
    with pytest.raises(UnreadableData):
        RecordReader(known).read(data)


def test_a_header_that_is_no_guid_is_unreadable(known: KnownSchemas) -> None:
    with pytest.raises(UnreadableData, match="not the guid"):
        RecordReader(known).read(b"", b"\1short")


def test_a_schema_that_nobody_knows_is_told(known: KnownSchemas) -> None:
    reader = RecordReader(known)
    for _ in range(2):
        with pytest.raises(RegistryRefusal, match="not found"):
            reader.read(frame(2**31 - 1, b""))


def test_a_schema_that_cannot_be_read_is_tried_once(known: KnownSchemas, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = registered(known.client, "endless", AVRO)
    assert schema.id is not None
    tried = []

    def refuse(one: RegisteredSchema) -> None:
        tried.append(one)
        raise SchemaError("a regular expression that cannot be run")

    monkeypatch.setattr(known, "parsed", refuse)
    reader = RecordReader(known)
    lengths = set()
    for _ in range(4):
        with pytest.raises(SchemaError, match="cannot be run") as failed:
            reader.read(frame(schema.id, b"\2"))
        lengths.add(len(traceback.extract_tb(failed.value.__traceback__)))
    assert len(tried) == 1
    assert len(lengths) <= 2


def test_there_is_a_bound_for_decoders(known: KnownSchemas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reading, "DECODERS_MAX", 2)
    reader = RecordReader(known)
    for kind in EVERY:
        schema = registered(known.client, f"bounded-{kind}", EVERY[kind])
        assert reader.read(RecordWriter(known, schema).write({"a": 1}).data).value == {"a": 1}
    assert len(reader._writers) <= 2


def test_a_guid_is_not_mistaken_for_an_id(known: KnownSchemas) -> None:
    schema = registered(known.client, "guid", AVRO)
    assert schema.guid is not None
    assert RecordReader(known).read(b"\2", header_of(schema.guid)).value == {"a": 1}
