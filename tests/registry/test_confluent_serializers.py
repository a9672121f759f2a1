"""Confluent's Python serializers write to a topic, and its deserializers read it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    Schema,
    SchemaReference,
    SchemaRegistryError,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)

from harness.confluent_registry import ConfluentRegistry
from harness.protobuf_messages import message_class
from harness.typed_topic import TypedTopic

FILES = {"person.proto": 'syntax = "proto3"; package test; message Third { string name = 1; optional int32 age = 2; }'}
PERSON = message_class("test.Third", FILES)
PERSONS = {
    "AVRO": json.dumps(
        {
            "type": "record",
            "name": "First",
            "namespace": "test",
            "fields": [{"name": "name", "type": "string"}, {"name": "age", "type": ["null", "int"], "default": None}],
        }
    ),
    "JSON": json.dumps(
        {
            "title": "test.Second",
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"],
        }
    ),
    "PROTOBUF": PERSON,
}
NAMES = {"AVRO": "test.First", "JSON": "test.Second", "PROTOBUF": "test.Third"}
ADA = {"name": "Ada", "age": 36}
LATEST = {"auto.register.schemas": False, "use.latest.version": True}

any_kind = pytest.mark.parametrize("kind", PERSONS)


def person(kind: str, **fields: Any) -> Any:
    return PERSON(**fields) if kind == "PROTOBUF" else fields


def fields_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {field.name: found for field, found in value.ListFields()}


def reader(confluent: ConfluentRegistry, kind: str, conf: dict[str, Any] | None = None) -> Callable[..., Any]:
    return confluent.deserializer(kind, PERSON if kind == "PROTOBUF" else None, conf)


@any_kind
def test_values_come_back(confluent: ConfluentRegistry, topic: TypedTopic, kind: str) -> None:
    values = [person(kind, name=f"Ada {number}", age=number) for number in range(1, 6)]
    topic.send(confluent.serializer(kind, PERSONS[kind]), *values)
    assert topic.receive(reader(confluent, kind), 5) == values
    assert confluent.client.get_latest_version(f"{topic.name}-value").schema.schema_type == kind


@any_kind
def test_an_id_in_a_header_leads_to_its_schema(confluent: ConfluentRegistry, topic: TypedTopic, kind: str) -> None:
    by_header = {"schema.id.serializer": header_schema_id_serializer}
    sent = topic.send(confluent.serializer(kind, PERSONS[kind], by_header), person(kind, **ADA))
    assert [name for name, _ in sent[0].headers] == ["__value_schema_id"]
    either = {"schema.id.deserializer": dual_schema_id_deserializer}
    assert fields_of(topic.receive(reader(confluent, kind, either), 1)[0]) == ADA


@any_kind
def test_the_latest_version_is_written_with(confluent: ConfluentRegistry, topic: TypedTopic, kind: str) -> None:
    topic.send(confluent.serializer(kind, PERSONS[kind]), person(kind, **ADA))
    confluent.client.clear_caches()
    topic.send(confluent.serializer(kind, PERSONS[kind], LATEST), person(kind, **ADA))
    first, second = topic.receive(reader(confluent, kind), 2)
    assert fields_of(first) == fields_of(second) == ADA


@any_kind
def test_nothing_is_registered_by_those_who_must_not(
    confluent: ConfluentRegistry, topic: TypedTopic, kind: str
) -> None:
    must_not = {"auto.register.schemas": False}
    with pytest.raises(SchemaRegistryError) as refused:
        topic.send(confluent.serializer(kind, PERSONS[kind], must_not), person(kind, **ADA))
    assert refused.value.error_code == 40401
    topic.send(confluent.serializer(kind, PERSONS[kind]), person(kind, **ADA))
    confluent.client.clear_caches()
    topic.send(confluent.serializer(kind, PERSONS[kind], must_not), person(kind, **ADA))
    assert confluent.client.get_versions(f"{topic.name}-value") == [1]


STRATEGIES = {
    topic_subject_name_strategy: "{topic}-value",
    record_subject_name_strategy: "{record}",
    topic_record_subject_name_strategy: "{topic}-{record}",
}


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__.removesuffix("_name_strategy"))
@any_kind
def test_subjects_are_named_as_asked(
    confluent: ConfluentRegistry, topic: TypedTopic, kind: str, strategy: Callable[..., str]
) -> None:
    conf = {"subject.name.strategy": strategy}
    topic.send(confluent.serializer(kind, PERSONS[kind], conf), person(kind, **ADA))
    found = confluent.client.get_latest_version(STRATEGIES[strategy].format(topic=topic.name, record=NAMES[kind]))
    assert found.schema.schema_type == kind
    assert fields_of(topic.receive(reader(confluent, kind, conf), 1)[0]) == ADA


def test_a_reader_has_fields_that_the_writer_did_not_know(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    topic.send(confluent.serializer("AVRO", PERSONS["AVRO"]), ADA)
    later = json.loads(PERSONS["AVRO"])
    later["fields"].append({"name": "city", "type": "string", "default": "London"})
    topic.send(confluent.serializer("AVRO", json.dumps(later)), ADA | {"city": "Paris"})
    found = topic.receive(confluent.deserializer("AVRO", json.dumps(later)), 2)
    assert found == [ADA | {"city": "London"}, ADA | {"city": "Paris"}]
    assert confluent.client.get_versions(f"{topic.name}-value") == [1, 2]


def test_a_value_that_does_not_evolve_is_not_written(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    topic.send(confluent.serializer("AVRO", PERSONS["AVRO"]), ADA)
    other = PERSONS["AVRO"].replace('"string"', '"int"')
    with pytest.raises(SchemaRegistryError) as refused:
        topic.send(confluent.serializer("AVRO", other), {"name": 5, "age": None})
    assert refused.value.error_code == 40901


def test_the_version_with_a_property_is_written_with(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    later = json.loads(PERSONS["AVRO"])
    later["fields"].append({"name": "city", "type": "string", "default": "London"})
    for text, major in ((PERSONS["AVRO"], "1"), (json.dumps(later), "2")):
        properties = Metadata(None, MetadataProperties({"major": major}), None)
        confluent.client.register_schema(f"{topic.name}-value", Schema(text, "AVRO", metadata=properties))
    conf = {"auto.register.schemas": False, "use.latest.with.metadata": {"major": "1"}}
    topic.send(confluent.serializer("AVRO", PERSONS["AVRO"], conf), ADA)
    assert topic.receive(confluent.deserializer("AVRO"), 1) == [ADA]


def test_spellings_of_one_schema_are_one_version(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    spelt = json.loads(PERSONS["AVRO"]) | {"doc": "a person"}
    for text in (json.dumps(spelt, indent=2), json.dumps(dict(reversed(spelt.items())))):
        confluent.client.clear_caches()
        topic.send(confluent.serializer("AVRO", text, {"normalize.schemas": True}), ADA)
    assert confluent.client.get_versions(f"{topic.name}-value") == [1]
    assert topic.receive(confluent.deserializer("AVRO"), 2) == [ADA, ADA]


# -- references -------------------------------------------------------------------------------------------------------


def test_avro_refers_through_several_schemas(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    street = '{"type":"record","name":"Street","namespace":"test","fields":[{"name":"name","type":"string"}]}'
    home = '{"type":"record","name":"Home","namespace":"test","fields":[{"name":"street","type":"test.Street"}]}'
    owner = '{"type":"record","name":"Owner","namespace":"test","fields":[{"name":"home","type":"test.Home"}]}'
    to_street = SchemaReference("test.Street", f"{topic.name}-street", 1)
    to_home = SchemaReference("test.Home", f"{topic.name}-home", 1)
    confluent.client.register_schema(f"{topic.name}-street", Schema(street, "AVRO"))
    confluent.client.register_schema(f"{topic.name}-home", Schema(home, "AVRO", [to_street]))
    value = {"home": {"street": {"name": "Main"}}}
    topic.send(confluent.serializer("AVRO", Schema(owner, "AVRO", [to_home])), value)
    assert topic.receive(confluent.deserializer("AVRO"), 1) == [value]


def test_json_refers_through_several_schemas(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    street = '{"$id":"https://test/street.json","type":"object","properties":{"name":{"type":"string"}}}'
    home = '{"$id":"https://test/home.json","type":"object","properties":{"street":{"$ref":"street.json"}}}'
    owner = '{"$id":"https://test/owner.json","title":"O","type":"object","properties":{"home":{"$ref":"home.json"}}}'
    to_street = SchemaReference("https://test/street.json", f"{topic.name}-street", 1)
    to_home = SchemaReference("https://test/home.json", f"{topic.name}-home", 1)
    confluent.client.register_schema(f"{topic.name}-street", Schema(street, "JSON"))
    confluent.client.register_schema(f"{topic.name}-home", Schema(home, "JSON", [to_street]))
    value = {"home": {"street": {"name": "Main"}}}
    topic.send(confluent.serializer("JSON", Schema(owner, "JSON", [to_home])), value)
    assert topic.receive(confluent.deserializer("JSON"), 1) == [value]


def test_protobuf_registers_what_it_imports(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    head = 'syntax = "proto3"; package test; import '
    files = {
        f"{topic.name}-street.proto": 'syntax = "proto3"; package test; message Street { string name = 1; }',
        f"{topic.name}-home.proto": f'{head}"{topic.name}-street.proto"; message Home {{ Street street = 1; }}',
        f"{topic.name}-owner.proto": f'{head}"{topic.name}-home.proto"; import "google/protobuf/timestamp.proto"; '
        "message Owner { message Inner { Home home = 1; google.protobuf.Timestamp since = 2; } Inner inner = 1; }",
    }
    owner = message_class("test.Owner.Inner", files)
    value = owner(home={"street": {"name": "Main"}}, since={"seconds": 5})
    topic.send(confluent.serializer("PROTOBUF", owner), value)
    assert topic.receive(confluent.deserializer("PROTOBUF", owner), 1) == [value]
    found = confluent.client.get_latest_version(f"{topic.name}-value").schema.references
    assert [(one.name, one.subject, one.version) for one in found] == [
        (f"{topic.name}-home.proto", f"{topic.name}-home.proto", 1)
    ]
