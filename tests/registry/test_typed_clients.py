"""What one client writes with a schema, every other one reads: each with its own registry library."""

import json
from collections.abc import Callable, Iterator

import pytest

from harness.registries import RegistryProcess
from harness.servers import Server
from harness.typed_clients import TYPED_CLIENTS, TypedClient

SCHEMAS = {
    "AVRO": json.dumps(
        {
            "type": "record",
            "name": "Order",
            "namespace": "test.orders",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "customer", "type": "string"},
                {"name": "note", "type": ["null", "string"], "default": None},
                {"name": "amounts", "type": {"type": "array", "items": "double"}},
                {"name": "tags", "type": {"type": "map", "values": "int"}},
                {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
                {
                    "name": "home",
                    "type": {"type": "record", "name": "Home", "fields": [{"name": "city", "type": "string"}]},
                },
            ],
        }
    ),
    "JSON": json.dumps(
        {
            "title": "Order",
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "customer": {"type": "string"},
                "amounts": {"type": "array", "items": {"type": "number"}},
                "home": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
            "required": ["id", "customer"],
        }
    ),
}
FIRST = {
    "id": 1,
    "customer": "Zoë",
    "note": "soon",
    "amounts": [1.5, -2.25],
    "tags": {"a": 1},
    "state": "PAID",
    "home": {"city": "Łódź"},
}
SECOND = {
    "id": 2**52,
    "customer": "",
    "note": None,
    "amounts": [],
    "tags": {},
    "state": "NEW",
    "home": {"city": ""},
}
VALUES = {
    "AVRO": [FIRST, SECOND],
    "JSON": [{name: one[name] for name in ("id", "customer", "amounts", "home")} for one in (FIRST, SECOND)],
}


@pytest.fixture(scope="session")
def typed_client(server: Server, registry: RegistryProcess) -> Iterator[Callable[[str], TypedClient]]:
    """Clients with a process of their own start once per session."""
    running: dict[str, TypedClient] = {}

    def get(name: str) -> TypedClient:
        if name not in running:
            running[name] = TYPED_CLIENTS[name](server.bootstrap, registry.url)
        return running[name]

    yield get
    for client in running.values():
        client.close()


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("writer", TYPED_CLIENTS)
def test_what_one_writes_all_read(
    typed_client: Callable[[str], TypedClient], new_topic: Callable[..., str], writer: str, kind: str
) -> None:
    topic = new_topic()
    typed_client(writer).write(topic, kind, SCHEMAS[kind], VALUES[kind])
    for reader in TYPED_CLIENTS:
        assert typed_client(reader).read(topic, kind, len(VALUES[kind])) == VALUES[kind], reader


def test_all_write_to_one_topic_with_one_schema(
    typed_client: Callable[[str], TypedClient], new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    for writer in TYPED_CLIENTS:
        typed_client(writer).write(topic, "AVRO", SCHEMAS["AVRO"], [FIRST])
    expected = [FIRST] * len(TYPED_CLIENTS)
    for reader in TYPED_CLIENTS:
        assert typed_client(reader).read(topic, "AVRO", len(expected)) == expected, reader


def test_kafkajs_reads_its_own_protobuf(
    typed_client: Callable[[str], TypedClient], new_topic: Callable[..., str]
) -> None:
    """Others leave it out: it writes no indexes of messages, which Confluent's format has between id and message."""
    schema = 'syntax = "proto3"; package test; message Order { string customer = 1; repeated double amounts = 2; }'
    topic, values = new_topic(), [{"customer": "Zoë", "amounts": [1.5]}]
    typed_client("kafkajs").write(topic, "PROTOBUF", schema, values)
    assert typed_client("kafkajs").read(topic, "PROTOBUF", 1) == values
