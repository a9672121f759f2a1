import json

import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.lookup import look_up
from ottla.registry.parsing import SchemaReader
from ottla.registry.records import SchemaKey
from ottla.registry.registration import Registration, register_schema
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.format import ParsedSchema
from ottla.schemas.schema import Reference, Schema
from unit.registry.registries import Registry, parse


def ask(registry: Registry, text: str, *, deleted: bool = False, **asked: object) -> StoredSchema:
    wanted = Registration("a", Schema(text), **asked)  # type: ignore[arg-type]
    return look_up(registry.state, wanted, deleted=deleted, defaults=registry.defaults, parse=parse)


def test_a_schema_is_found_however_it_is_written() -> None:
    registry = Registry()
    first = registry.register("a", "x", "y")
    assert ask(registry, '[ "x",\n"y" ]') == first
    with pytest.raises(RegistryError) as refused:
        ask(registry, '["y", "x"]')
    assert (refused.value.code, refused.value.message) == (40403, "Schema not found")
    assert ask(registry, '["y", "x"]', normalises=True) == first


def test_what_is_deleted_is_found_on_request() -> None:
    registry = Registry()
    registry.register("a", "x", "y")
    registry.register("a", "x")
    registry.delete("a", 1)
    with pytest.raises(RegistryError):
        ask(registry, '["x", "y"]')
    assert ask(registry, '["x", "y"]', deleted=True).version == 1


def test_what_a_version_inherits_need_not_be_named() -> None:
    registry = Registry()
    first = registry.register("a", "x", metadata={"properties": {"owner": "me"}})
    assert ask(registry, '["x"]') == first


def test_subjects_that_nobody_knows_and_texts_that_are_no_schemas_are_told() -> None:
    registry = Registry()
    with pytest.raises(RegistryError) as refused:
        ask(registry, '["x"]')
    assert refused.value.code == 40401
    with pytest.raises(RegistryError) as refused:
        ask(registry, "{")
    assert refused.value.code == 42201
    registry.register("a", "x")
    with pytest.raises(RegistryError) as refused:
        ask(registry, " ")
    assert refused.value.code == 40403


def test_a_schema_is_looked_for_in_other_contexts_too() -> None:
    registry = Registry()
    registry.register("a", "x")
    other = registry.register(":.c:a", "y")
    assert ask(registry, '["y"]') == other


def test_the_number_of_a_version_need_not_be_named() -> None:
    registry = Registry()
    registry.register("a", "x", version=1)
    numbered = registry.register("a", "x", version=2)
    assert numbered.metadata == {"properties": {"confluent:version": "2"}}
    assert ask(registry, '["x"]', metadata={}) == numbered


def test_an_avro_schema_is_found_if_it_has_in_itself_what_the_stored_one_refers_to() -> None:
    registry, reader = Registry(), SchemaReader()

    def read(subject: str, schema: Schema, is_new: bool) -> ParsedSchema:
        return reader.read(registry.state, subject, schema, is_new)

    inner = {"type": "record", "name": "Inner", "fields": [{"name": "id", "type": "int"}]}
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "inner", "type": "Inner"}]}
    for subject, schema in (
        ("inner", Schema(json.dumps(inner))),
        ("a", Schema(json.dumps(outer), references=(Reference("Inner", "inner", 1),))),
    ):
        registry.carry_out(
            register_schema(registry.state, Registration(subject, schema), defaults=registry.defaults, parse=read)
        )
    resolved = {**outer, "fields": [{"name": "inner", "type": inner}]}
    wanted = Registration("a", Schema(json.dumps(resolved)))
    found = look_up(registry.state, wanted, deleted=False, defaults=registry.defaults, parse=read)
    assert found.key == SchemaKey("a", 1)
