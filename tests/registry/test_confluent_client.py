"""Every call of Confluent's Python client, in its blocking and its asynchronous form."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryError,
    ServerConfig,
)

from harness.confluent_registry import ConfluentRegistry

TEXTS = {
    "AVRO": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    "JSON": '{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}',
    "PROTOBUF": 'syntax = "proto3";\n\nmessage R {\n  int32 a = 1;\n}\n',
}
WIDER = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}'
OTHER = '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'


@pytest.fixture
def client(confluent: ConfluentRegistry) -> Any:
    return confluent.client


@pytest.fixture
def subject(fresh_name: Callable[[], str]) -> str:
    return fresh_name()


def refusal(call: Callable[..., object], *arguments: Any, **named: Any) -> tuple[int, int]:
    """The status and the code that a call is refused with."""
    with pytest.raises(SchemaRegistryError) as refused:
        call(*arguments, **named)
    return refused.value.http_status_code, refused.value.error_code


@pytest.mark.parametrize("kind", TEXTS)
def test_a_schema_is_registered_once_and_found_in_every_way(client: Any, subject: str, kind: str) -> None:
    schema = Schema(TEXTS[kind], kind)
    schema_id = client.register_schema(subject, schema)
    client.clear_caches()
    assert client.register_schema_full_response(subject, schema).schema_id == schema_id
    client.clear_caches()
    found = client.get_latest_version(subject)
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    assert found.schema == client.get_schema(schema_id) == client.get_schema_by_guid(found.guid)
    assert client.get_version(subject, 1).schema == found.schema
    assert client.lookup_schema(subject, schema).version == 1
    assert client.get_versions(subject) == [1]
    assert subject in client.get_subjects()
    assert client.get_subjects(subject_prefix=subject) == [subject]
    assert subject in client.get_subjects_by_schema_id(schema_id)
    assert (subject, 1) in [(one.subject, one.version) for one in client.get_schema_versions(schema_id)]
    assert set(client.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}


def test_what_is_not_there_is_not_found(client: Any, subject: str) -> None:
    schema = Schema(TEXTS["AVRO"], "AVRO")
    assert refusal(client.get_latest_version, subject) == (404, 40401)
    assert refusal(client.get_versions, subject) == (404, 40401)
    assert refusal(client.lookup_schema, subject, schema) == (404, 40401)
    assert refusal(client.get_schema, 987_654_321) == (404, 40403)
    client.register_schema(subject, schema)
    assert refusal(client.get_version, subject, 7) == (404, 40402)
    assert refusal(client.lookup_schema, subject, Schema(WIDER, "AVRO")) == (404, 40403)
    assert refusal(client.get_compatibility, subject) == (404, 40408)
    assert refusal(client.get_mode, subject) == (404, 40409)


def test_a_schema_that_is_none_is_refused(client: Any, subject: str) -> None:
    assert refusal(client.register_schema, subject, Schema('{"type":"nothing"}', "AVRO")) == (422, 42201)
    assert refusal(client.register_schema, subject, Schema("{", "JSON")) == (422, 42201)
    assert refusal(client.register_schema, subject, Schema("message", "PROTOBUF")) == (422, 42201)


def test_schemas_that_differ_in_spelling_alone_are_one_when_normalised(client: Any, subject: str) -> None:
    spelt = json.dumps(json.loads(TEXTS["AVRO"]) | {"doc": "d", "aliases": []}, indent=4)
    reordered = json.dumps(dict(reversed(json.loads(spelt).items())))
    first = client.register_schema(subject, Schema(spelt, "AVRO"), normalize_schemas=True)
    assert client.register_schema(subject, Schema(reordered, "AVRO"), normalize_schemas=True) == first
    assert client.get_versions(subject) == [1]


def test_what_cannot_read_its_predecessor_is_refused_and_can_be_asked_for_before(client: Any, subject: str) -> None:
    client.register_schema(subject, Schema(TEXTS["AVRO"], "AVRO"))
    assert client.test_compatibility(subject, Schema(WIDER, "AVRO")) is True
    assert client.test_compatibility(subject, Schema(OTHER, "AVRO")) is False
    assert refusal(client.register_schema, subject, Schema(OTHER, "AVRO")) == (409, 40901)
    client.register_schema(subject, Schema(WIDER, "AVRO"))
    assert client.test_compatibility(subject, Schema(WIDER, "AVRO"), version=1) is True
    assert client.test_compatibility_all_versions(subject, Schema(OTHER, "AVRO")) is False
    client.set_compatibility(subject, "NONE")
    client.register_schema(subject, Schema(OTHER, "AVRO"))
    assert client.get_versions(subject) == [1, 2, 3]


def test_versions_and_subjects_go_softly_and_then_for_good(client: Any, subject: str) -> None:
    client.register_schema(subject, Schema(TEXTS["AVRO"], "AVRO"))
    client.register_schema(subject, Schema(WIDER, "AVRO"))
    assert refusal(client.delete_version, subject, 1, permanent=True) == (404, 40407)
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.get_versions(subject, deleted=True) == [1, 2]
    assert refusal(client.get_version, subject, 1) == (404, 40402)
    client.clear_caches()
    assert client.get_version(subject, 1, deleted=True).version == 1
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    assert subject not in client.get_subjects()
    assert subject in client.get_subjects(deleted=True)
    assert client.delete_subject(subject, permanent=True) == [2]
    assert subject not in client.get_subjects(deleted=True)


def test_what_others_refer_to_stays(client: Any, subject: str) -> None:
    part = f"{subject}-part"
    client.register_schema(part, Schema('{"type":"fixed","name":"Part","size":4}', "AVRO"))
    whole = '{"type":"record","name":"Whole","fields":[{"name":"part","type":"Part"}]}'
    schema_id = client.register_schema(subject, Schema(whole, "AVRO", [SchemaReference("Part", part, 1)]))
    assert client.get_referenced_by(part, 1) == [schema_id]
    assert refusal(client.delete_subject, part) == (422, 42206)
    client.delete_subject(subject)
    client.delete_subject(subject, permanent=True)
    assert client.delete_subject(part) == [1]


def test_settings_of_a_subject_are_kept_until_they_are_taken_back(client: Any, subject: str) -> None:
    rule = Rule("r", "d", RuleKind.CONDITION, RuleMode.WRITE, "CEL", ["t"], None, "true", "NONE", "ERROR", False)
    wanted = ServerConfig(
        compatibility=ConfigCompatibilityLevel.FULL_TRANSITIVE,
        compatibility_group="major",
        default_metadata=Metadata(None, MetadataProperties({"owner": "me"}), []),
        override_rule_set=RuleSet(None, [rule]),
    )
    client.set_config(subject, wanted)
    kept = client.get_config(subject)
    assert kept.compatibility_level == ConfigCompatibilityLevel.FULL_TRANSITIVE
    assert (kept.compatibility_group, kept.default_metadata) == ("major", wanted.default_metadata)
    assert kept.override_rule_set.domain_rules == [rule]
    assert client.get_compatibility(subject) == "FULL_TRANSITIVE"
    client.delete_config(subject)
    assert refusal(client.get_config, subject) == (404, 40408)
    assert client.get_config().compatibility_level == ConfigCompatibilityLevel.BACKWARD


def test_modes_say_who_may_write(client: Any, subject: str) -> None:
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    assert refusal(client.register_schema, subject, Schema(TEXTS["AVRO"], "AVRO")) == (422, 42205)
    client.delete_mode(subject)
    client.register_schema(subject, Schema(TEXTS["AVRO"], "AVRO"))
    assert refusal(client.update_mode, subject, "NOWHERE") == (422, 42204)
    assert refusal(client.update_mode, subject, "IMPORT") == (422, 42205)
    assert client.update_mode(subject, "IMPORT", force=True) == "IMPORT"
    assert client.update_global_mode("READWRITE") == "READWRITE"


def test_a_context_has_ids_of_its_own(client: Any, subject: str) -> None:
    context = f".{subject}"
    there = f":{context}:{subject}"
    assert client.register_schema(there, Schema(TEXTS["AVRO"], "AVRO")) == 1
    assert client.get_latest_version(there).subject == there
    assert context in client.get_contexts()
    assert client.get_subjects(subject_prefix=f":{context}:") == [there]


def test_the_latest_version_with_properties_is_found(client: Any, subject: str) -> None:
    for text, major in ((TEXTS["AVRO"], "1"), (WIDER, "2")):
        properties = Metadata(None, MetadataProperties({"major": major}), None)
        client.register_schema(subject, Schema(text, "AVRO", metadata=properties))
    assert client.get_latest_with_metadata(subject, {"major": "1"}).version == 1
    assert client.get_latest_with_metadata(subject, {"major": "2"}).version == 2
    assert client.get_latest_version(subject).schema.metadata.properties.properties == {"major": "2"}
