"""Schemas of the three formats in a registry, with references."""

import json
from collections.abc import Callable
from functools import partial

import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.parsing import SchemaReader
from ottla.registry.registration import Registration, register_schema
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.errors import InvalidReference
from ottla.schemas.schema import Reference, Schema, SchemaType
from unit.registry.registries import Registry

CUSTOMER = {
    SchemaType.AVRO: json.dumps({"type": "record", "name": "shop.Customer", "fields": [{"name": "id", "type": "int"}]}),
    SchemaType.JSON: json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}}),
    SchemaType.PROTOBUF: 'syntax = "proto3"; package shop; message Customer { int32 id = 1; }',
}
ORDER = {
    SchemaType.AVRO: json.dumps(
        {"type": "record", "name": "shop.Order", "fields": [{"name": "customer", "type": "shop.Customer"}]}
    ),
    SchemaType.JSON: json.dumps({"type": "object", "properties": {"customer": {"$ref": "customer.json"}}}),
    SchemaType.PROTOBUF: (
        'syntax = "proto3"; package shop; import "customer.proto"; message Order { Customer customer = 1; }'
    ),
}
NAMES = {SchemaType.AVRO: "shop.Customer", SchemaType.JSON: "customer.json", SchemaType.PROTOBUF: "customer.proto"}


@pytest.fixture
def register() -> Callable[..., StoredSchema]:
    registry, reader = Registry(), SchemaReader()

    def ask(subject: str, schema: Schema) -> StoredSchema:
        parse = partial(reader.read, registry.state)
        change = register_schema(registry.state, Registration(subject, schema), defaults=registry.defaults, parse=parse)
        stored: StoredSchema = registry.carry_out(change).stored
        return stored

    return ask


@pytest.mark.parametrize("kind", list(SchemaType))
def test_a_schema_may_refer_to_another(kind: SchemaType, register: Callable[..., StoredSchema]) -> None:
    register("customer", Schema(CUSTOMER[kind], kind))
    order = Schema(ORDER[kind], kind, (Reference(NAMES[kind], "customer", 1),))
    assert register("order", order).version == 1


@pytest.mark.parametrize("kind", list(SchemaType))
def test_a_reference_that_leads_nowhere_is_told(kind: SchemaType, register: Callable[..., StoredSchema]) -> None:
    order = Schema(ORDER[kind], kind, (Reference(NAMES[kind], "customer", 1),))
    with pytest.raises(RegistryError, match="version 1 of subject customer, which does not exist") as refused:
        register("order", order)
    assert refused.value.code == 42201


@pytest.mark.parametrize("kind", list(SchemaType))
def test_a_schema_that_cannot_read_the_one_before_is_refused(
    kind: SchemaType, register: Callable[..., StoredSchema]
) -> None:
    other = {
        SchemaType.AVRO: CUSTOMER[SchemaType.AVRO].replace('"int"', '"string"'),
        SchemaType.JSON: CUSTOMER[SchemaType.JSON].replace('"integer"', '"string"'),
        SchemaType.PROTOBUF: CUSTOMER[SchemaType.PROTOBUF].replace("int32 id", "string id"),
    }
    register("customer", Schema(CUSTOMER[kind], kind))
    with pytest.raises(RegistryError) as refused:
        register("customer", Schema(other[kind], kind))
    assert refused.value.code == 40901


def test_what_was_read_is_kept_as_long_as_there_is_room() -> None:
    reader, state = SchemaReader(kept_max=2), Registry().state
    texts = ['"int"', '"long"', '"string"']
    first = [reader.read(state, "a", Schema(text), True) for text in texts[:2]]
    assert reader.read(state, "a", Schema(texts[0]), True) is first[0]
    reader.read(state, "a", Schema(texts[2]), True)
    assert reader.read(state, "a", Schema(texts[0]), True) is first[0]
    assert reader.read(state, "a", Schema(texts[1]), True) is not first[1]


def test_what_is_deleted_is_not_referred_to_anew() -> None:
    registry, reader = Registry(), SchemaReader()
    registry.register("base", "x")
    registry.delete("base")
    schema = Schema('"int"', references=(Reference("Base", "base", 1),))
    with pytest.raises(InvalidReference):
        reader.read(registry.state, "a", schema, True)
