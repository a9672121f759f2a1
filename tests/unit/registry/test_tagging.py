from functools import partial

import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.parsing import SchemaReader
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.tagging import TagChange, change_tags
from ottla.schemas.schema import Schema
from ottla.schemas.tagging import Entity
from unit.registry.registries import Registry

TEXT = '{"type":"record","name":"R","fields":[]}'
PII = {Entity("R", is_record=True): ["PII"]}


def rules(*names: str) -> dict[str, list[dict[str, str]]]:
    return {"domainRules": [{"name": name, "type": "CEL", "kind": "CONDITION", "mode": "WRITE"} for name in names]}


def a_registry() -> Registry:
    registry = Registry()
    stored = StoredSchema("a", 1, 1, Schema(TEXT), metadata={"tags": {"x": ["y"]}}, rule_set=rules("old", "kept"))
    registry.state = registry.state.apply(stored.to_record())
    return registry


def change(registry: Registry, asked: TagChange, subject: str = "a", version: int = 1) -> StoredSchema:
    parse = partial(SchemaReader().read, registry.state)
    decided = change_tags(registry.state, subject, version, asked, defaults=registry.defaults, parse=parse)
    stored: StoredSchema = registry.carry_out(decided).stored
    return stored


def test_the_next_version_has_the_tags_and_what_the_one_before_had() -> None:
    stored = change(a_registry(), TagChange(added=PII))
    assert stored.version == 2
    assert stored.schema.text == '{"type":"record","name":"R","fields":[],"confluent:tags":["PII"]}'
    assert stored.metadata == {"tags": {"x": ["y"]}, "properties": {"confluent:version": "2"}}
    assert stored.rule_set == rules("old", "kept")


def test_rules_are_merged_and_removed() -> None:
    asked = TagChange(added=PII, rules_to_merge=rules("new"), rules_to_remove=("old", "nobody"))
    assert change(a_registry(), asked).rule_set == rules("kept", "new")
    assert change(a_registry(), TagChange(rules_to_remove=("old",), new_version=2)).rule_set == rules("kept")
    assert change(a_registry(), TagChange(rule_set=rules("only"))).rule_set == rules("only")


@pytest.mark.parametrize(
    ("asked", "subject", "version", "code"),
    [
        (TagChange(), "nobody", 1, 40401),
        (TagChange(), "a", 7, 40402),
        (TagChange(new_version=1), "a", 1, 42201),
        (TagChange(rules_to_merge=rules("r", "r")), "a", 1, 42210),
        (TagChange(added={Entity("Nobody", is_record=True): ["x"]}), "a", 1, 42201),
    ],
)
def test_what_cannot_be_is_told(asked: TagChange, subject: str, version: int, code: int) -> None:
    with pytest.raises(RegistryError) as refused:
        change(a_registry(), asked, subject, version)
    assert refused.value.code == code
