"""A registry as a client meets it: over HTTP, with schemas of real formats, in a topic of a real node."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from harness.waiting import eventually
from ottla.registry.server import ListenFailed, run_registry
from ottla.registry.settings import read_settings
from ottla.testing import EmbeddedCluster

PROGRAM = """
import asyncio, json, sys
from ottla.registry.server import run_registry
from ottla.registry.settings import read_settings
asyncio.run(run_registry(read_settings(json.loads(sys.argv[1])), lambda ready: print(ready[0].port, flush=True)))
"""


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistryClient]:
    with EmbeddedCluster() as cluster:
        settings = {
            "kafkastore.bootstrap.servers": cluster.bootstrap_servers,
            "listeners": "http://127.0.0.1:0",
            "host.name": "127.0.0.1",
            "kafkastore.topic.replication.factor": "1",
        }
        command = [sys.executable, "-c", PROGRAM, json.dumps(settings)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            with SchemaRegistryClient({"url": f"http://127.0.0.1:{port}"}) as client:
                until_someone_leads(client)
                yield client
            process.terminate()
            assert process.wait(30) == 0


def until_someone_leads(client: SchemaRegistryClient) -> None:
    def is_led() -> bool:
        try:
            client.set_compatibility(level="BACKWARD")
        except SchemaRegistryError as error:
            assert error.error_code == 50004, error
            return False
        return True

    eventually(is_led)


TEXTS = {
    "AVRO": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    "JSON": '{"type":"object","properties":{"a":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3";\nmessage R {\n  int32 a = 1;\n}\n',
}


@pytest.mark.parametrize("kind", TEXTS)
def test_confluents_client_registers_and_finds_schemas(registry: SchemaRegistryClient, kind: str) -> None:
    subject = f"{kind}-value"
    schema_id = registry.register_schema(subject, Schema(TEXTS[kind], kind))
    assert registry.register_schema(subject, Schema(TEXTS[kind], kind)) == schema_id
    assert registry.get_schema(schema_id).schema_type == kind
    found = registry.get_latest_version(subject)
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    assert registry.lookup_schema(subject, Schema(TEXTS[kind], kind)).schema_id == schema_id
    assert subject in registry.get_subjects()
    assert registry.test_compatibility(subject, Schema(TEXTS[kind], kind))


def test_confluents_client_hears_why_a_schema_is_refused(registry: SchemaRegistryClient) -> None:
    registry.register_schema("refused", Schema(TEXTS["AVRO"], "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        registry.register_schema("refused", Schema(TEXTS["AVRO"].replace('"int"', '"string"'), "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40901)
    assert "TYPE_MISMATCH" in refused.value.error_message
    with pytest.raises(SchemaRegistryError) as refused:
        registry.get_latest_version("nobody")
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40401)


def test_a_port_that_is_taken_is_told_before_anything_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = read_settings(
            {
                "kafkastore.bootstrap.servers": "127.0.0.1:1",
                "listeners": f"http://127.0.0.1:{taken.getsockname()[1]}",
            }
        )
        with pytest.raises(ListenFailed, match="Name another port"):
            asyncio.run(run_registry(settings, lambda _: None))
