"""Rules of a data contract: the registry keeps them, and Confluent's Python serializers carry them out."""

import json

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
    ServerConfig,
)
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.schema_registry.rules.cel.cel_field_executor import CelFieldExecutor
from confluent_kafka.schema_registry.rules.jsonata.jsonata_executor import JsonataExecutor
from confluent_kafka.serialization import SerializationError

from harness.confluent_registry import ConfluentRegistry
from harness.typed_topic import TypedTopic

for executor in (CelExecutor, CelFieldExecutor, JsonataExecutor):
    executor.register()

PERSON = json.dumps(
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "name", "type": "string", "confluent:tags": ["PII"]},
            {"name": "age", "type": "int"},
        ],
    }
)
PERSON_JSON = json.dumps(
    {"title": "Person", "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
)
LATEST = {"auto.register.schemas": False, "use.latest.version": True}


def rule(name: str, kind: RuleKind, mode: RuleMode, executor: str, expr: str, tags: list[str] | None = None) -> Rule:
    return Rule(name, None, kind, mode, executor, tags, None, expr, None, None, False)


def renaming(old: str, new: str) -> str:
    return f"$merge([$sift($, function($v, $k) {{$k != '{old}'}}), {{'{new}': $.'{old}'}}])"


def of_domain(*rules: Rule) -> RuleSet:
    return RuleSet(None, list(rules))


@pytest.mark.parametrize(("kind", "text"), [("AVRO", PERSON), ("JSON", PERSON_JSON)])
def test_a_condition_keeps_bad_values_out(
    confluent: ConfluentRegistry, topic: TypedTopic, kind: str, text: str
) -> None:
    adult = rule("adult", RuleKind.CONDITION, RuleMode.WRITE, "CEL", "message.age >= 18")
    confluent.client.register_schema(f"{topic.name}-value", Schema(text, kind, rule_set=of_domain(adult)))
    serialize = confluent.serializer(kind, text, LATEST)
    topic.send(serialize, {"name": "Ada", "age": 36})
    with pytest.raises(SerializationError) as refused:
        topic.send(serialize, {"name": "Bob", "age": 5})
    assert "message.age >= 18" in str(refused.value.__cause__)
    assert topic.receive(confluent.deserializer(kind), 1) == [{"name": "Ada", "age": 36}]


def test_fields_with_a_tag_are_transformed_on_the_way(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    mask = rule("mask", RuleKind.TRANSFORM, RuleMode.WRITE, "CEL_FIELD", "typeName == 'STRING' ; 'hidden'", ["PII"])
    confluent.client.register_schema(f"{topic.name}-value", Schema(PERSON, "AVRO", rule_set=of_domain(mask)))
    topic.send(confluent.serializer("AVRO", PERSON, LATEST), {"name": "Ada", "age": 36})
    assert topic.receive(confluent.deserializer("AVRO"), 1) == [{"name": "hidden", "age": 36}]


def test_values_migrate_between_versions_that_are_not_compatible(
    confluent: ConfluentRegistry, topic: TypedTopic
) -> None:
    subject = f"{topic.name}-value"
    level = ConfigCompatibilityLevel.BACKWARD
    confluent.client.set_config(subject, ServerConfig(compatibility=level, compatibility_group="major"))
    renamed = PERSON.replace('"name": "age"', '"name": "years"')
    migration = RuleSet(
        [
            rule("up", RuleKind.TRANSFORM, RuleMode.UPGRADE, "JSONATA", renaming("age", "years")),
            rule("down", RuleKind.TRANSFORM, RuleMode.DOWNGRADE, "JSONATA", renaming("years", "age")),
        ],
        None,
    )
    first = Schema(PERSON, "AVRO", metadata=Metadata(None, MetadataProperties({"major": "1"}), None))
    second = Schema(
        renamed, "AVRO", metadata=Metadata(None, MetadataProperties({"major": "2"}), None), rule_set=migration
    )
    confluent.client.register_schema(subject, first)
    confluent.client.register_schema(subject, second)
    for text, major, value in ((PERSON, "1", {"name": "Ada", "age": 36}), (renamed, "2", {"name": "Bob", "years": 5})):
        with_major = {"auto.register.schemas": False, "use.latest.with.metadata": {"major": major}}
        topic.send(confluent.serializer("AVRO", text, with_major), value)
    as_first = confluent.deserializer("AVRO", conf={"use.latest.with.metadata": {"major": "1"}})
    as_second = confluent.deserializer("AVRO", conf={"use.latest.with.metadata": {"major": "2"}})
    assert topic.receive(as_first, 2) == [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 5}]
    assert topic.receive(as_second, 2) == [{"name": "Ada", "years": 36}, {"name": "Bob", "years": 5}]


def test_a_registry_adds_the_rules_of_the_subject(confluent: ConfluentRegistry, topic: TypedTopic) -> None:
    subject = f"{topic.name}-value"
    adult = rule("adult", RuleKind.CONDITION, RuleMode.WRITE, "CEL", "message.age >= 18")
    confluent.client.set_config(subject, ServerConfig(default_rule_set=of_domain(adult)))
    confluent.client.register_schema(subject, Schema(PERSON, "AVRO"))
    confluent.client.clear_caches()
    with pytest.raises(SerializationError) as refused:
        topic.send(confluent.serializer("AVRO", PERSON, LATEST), {"name": "Bob", "age": 5})
    assert "message.age >= 18" in str(refused.value.__cause__)
