"""`ottla produce --schema` and `ottla consume --registry`, beside Confluent's own serializers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import wrappers_pb2

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.commands import Commands, Run
from harness.http_answers import answering, refuse
from harness.registries import running_registries
from harness.servers import Server

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }
)
FULL = '{"id":7,"day":"2024-06-10","note":"dobrý den"}'

NewTopic = Callable[..., str]


@pytest.fixture(scope="module")
def url(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registries(tmp_path_factory.mktemp("registry"), server.bootstrap) as (registry,):
        yield registry.url


@pytest.fixture
def registry(url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": url}) as client:
        yield client


@pytest.fixture
def ottla(server: Server, url: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("OTTLA_SCHEMA_REGISTRY_URL", url)
    commands = Commands(capsysbinary, monkeypatch)
    return lambda *arguments, stdin=b"": commands.run("-b", server.bootstrap, *arguments, stdin=stdin)


@pytest.fixture
def order(tmp_path: Path) -> str:
    (tmp_path / "order.avsc").write_text(ORDER)
    return str(tmp_path / "order.avsc")


def value_context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def records(reference: ConfluentKafka, topic: str, count: int) -> list[Record]:
    return [one.record for one in reference.read(topic, 0, 0, count)]


def test_json_lines_are_encoded_as_confluents_serializer_does_and_decoded_again(
    ottla: Run, registry: SchemaRegistryClient, reference: ConfluentKafka, new_topic: NewTopic, order: str
) -> None:
    topic = new_topic()
    done = ottla("produce", topic, "--schema", order, "--register", stdin=f'{FULL}\n{{"id":8}}\n'.encode())
    assert done.code == 0, done
    context = value_context(topic)
    first, second = (AvroDeserializer(registry)(record.value, context) for record in records(reference, topic, 2))
    assert (first["id"], str(first["day"]), first["note"]) == (7, "2024-06-10", "dobrý den")
    assert (second["id"], second["note"]) == (8, None)
    shown = ottla("consume", topic, "-e")
    assert shown.lines == [FULL, '{"id":8,"day":"1970-01-01","note":null}']
    assert shown.err == b""


def test_what_confluents_serializer_wrote_goes_through_both_commands_unchanged(
    ottla: Run, registry: SchemaRegistryClient, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic, copy, lines = new_topic(), new_topic(), new_topic()
    in_front = AvroSerializer(registry, ORDER)
    # A registration answers an id alone; a guid is what a lookup finds.
    header_ids = {"auto.register.schemas": False, "schema.id.serializer": header_schema_id_serializer}
    in_header = AvroSerializer(registry, ORDER, conf=header_ids)
    first = in_front({"id": 1, "day": 19884, "note": None}, value_context(topic))
    headers: list[tuple[str, Any]] = []
    context = SerializationContext(topic, MessageField.VALUE, headers=headers)
    data = in_header({"id": 2, "day": 1, "note": "x"}, context)
    written = [
        Record(first, b"plain key"),
        Record(data, b"k", tuple(headers)),
        Record(None, b"tombstone"),
        Record(b"plain"),
        Record(b"\xff\xfe"),
    ]
    reference.produce(topic, written)
    shown = ottla("consume", topic, "-e", "-o", "jsonl")
    rows = [json.loads(line) for line in shown.lines]
    assert rows[0]["value"] == {"id": 1, "day": "2024-06-10", "note": None}
    assert isinstance(rows[0]["value_schema_id"], int)
    assert (rows[0]["key"], rows[0]["key_schema_id"]) == ("plain key", None)
    assert rows[1]["value"] == {"id": 2, "day": "1970-01-02", "note": "x"}
    assert len(rows[1]["value_schema_guid"]) == 36
    assert [(row["value"], row["value_schema_id"]) for row in rows[2:]] == [
        (None, None),
        ("plain", None),
        ({"base64": "//4="}, None),
    ]
    assert ottla("produce", copy, "--jsonl", stdin=shown.out).code == 0
    assert [(one.key, one.value, one.headers) for one in records(reference, copy, 5)] == [
        (one.key, one.value, one.headers) for one in written
    ]
    values = ottla("consume", topic, "-n", "1").out
    assert ottla("produce", lines, "--schema", f"id:{rows[0]['value_schema_id']}", stdin=values).code == 0
    assert records(reference, lines, 1)[0].value == written[0].value


def test_keys_are_encoded_too_and_every_output_shows_them(ottla: Run, new_topic: NewTopic, order: str) -> None:
    topic = new_topic()
    key = f"{topic}-key"
    (Path(order).parent / "key.json").write_text('{"type":"string"}')
    for subject, path in ((key, str(Path(order).parent / "key.json")), (f"{topic}-value", order)):
        assert ottla("schemas", "register", subject, path).code == 0
    schemas = ("--schema", f"{topic}-value:latest", "--key-schema", f"{key}:1")
    done = ottla("produce", topic, *schemas, "-K", "|", stdin=f'"ann"|{FULL}\n'.encode())
    assert done.code == 0, done
    assert ottla("consume", topic, "-e", "-K", " ").lines == [f'"ann" {FULL}']
    assert ottla("consume", topic, "-e", "-f", "%k %V:%v\\n").lines == [f'"ann" {len(FULL.encode())}:{FULL}']
    (row,) = json.loads(ottla("consume", topic, "-e", "-o", "json").out)
    assert (row["key"], row["value"]) == ("ann", json.loads(FULL))
    assert FULL in ottla("consume", topic, "-e", "-o", "table").out.decode()
    raw = ottla("consume", topic, "-e", "-o", "hex").lines[0]
    assert raw.startswith("00000000")
    line = json.dumps({"key": "bob", "value": {"id": 9}}).encode()
    assert ottla("produce", topic, *schemas, "--jsonl", stdin=line).code == 0
    assert ottla("consume", topic, "-e", "--tail", "1", "-K", " ").lines[0].startswith('"bob" {"id":9,')


def test_protobuf_tells_its_message_and_is_written_with_it_again(
    ottla: Run, registry: SchemaRegistryClient, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic, copy = new_topic(), new_topic()
    serializer = ProtobufSerializer(wrappers_pb2.StringValue, registry, {"use.deprecated.format": False})
    data = serializer(wrappers_pb2.StringValue(value="x"), value_context(topic))
    reference.produce(topic, [Record(data)])
    shown = ottla("consume", topic, "-e", "-o", "jsonl")
    row = json.loads(shown.out)
    assert row["value_message"] == "google.protobuf.StringValue"
    assert ottla("produce", copy, "--jsonl", stdin=shown.out).code == 0
    assert records(reference, copy, 1)[0].value == data


def test_records_that_cannot_be_decoded_are_shown_as_they_are_and_named_once(
    ottla: Run, registry: SchemaRegistryClient, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic()
    schema_id = registry.register_schema(f"{topic}-value", Schema(ORDER, "AVRO"))
    damaged = b"\0" + schema_id.to_bytes(4) + b"\xff"
    unknown = [b"\0\x7f\0\0" + bytes([number]) for number in range(3)]
    reference.produce(topic, [Record(value) for value in (*unknown, damaged, damaged, b"plain")])
    shown = ottla("consume", topic, "-e")
    assert shown.code == 0
    assert shown.out == b"".join(value + b"\n" for value in (*unknown, damaged, damaged, b"plain"))
    told = shown.err.decode().splitlines()
    assert [line.count("is shown as it is") for line in told] == [1, 1]
    assert f"{topic}-0 offset 0: its value" in told[0]
    assert "not found" in told[0]
    assert f"{topic}-0 offset 3" in told[1]


def test_a_registry_that_is_away_is_named_once_and_reading_goes_on(
    ottla: Run, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic()
    values = [b"\0\0\0\0" + bytes([number]) for number in range(3)]
    reference.produce(topic, [Record(value) for value in values])
    with answering(lambda _: refuse(503, 50004, "nobody leads")) as server:
        shown = ottla("consume", topic, "-e", "--registry", server.url)
    assert (shown.code, shown.out) == (0, b"".join(value + b"\n" for value in values))
    assert (shown.err.count(b"nobody leads"), len(server.requests)) == (1, 1)


def test_without_a_registry_nothing_changes(
    ottla: Run, reference: ConfluentKafka, new_topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTTLA_SCHEMA_REGISTRY_URL")
    topic = new_topic()
    reference.produce(topic, [Record(b"\0\0\0\0\1x")])
    assert ottla("consume", topic, "-e").out == b"\0\0\0\0\1x\n"
    assert "value_schema_id" not in json.loads(ottla("consume", topic, "-e", "-o", "jsonl").out)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "record 2: the value is not JSON"),
        (b"", "record 2: the value is not JSON"),
        (b'{"id":"x"}', 'record 2: the value does not fit its schema: at /id: "x" is not a long'),
        (b'{"id":1,"ammount":2}', '"ammount" is not a field of Order: there are id, day, note'),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_ends_the_command(
    ottla: Run, new_topic: NewTopic, order: str, line: bytes, told: str
) -> None:
    topic = new_topic()
    done = ottla("produce", topic, "--schema", order, "--register", stdin=b'{"id":1}\n' + line + b"\n" + b'{"id":3}\n')
    assert (done.code, told in done.err.decode()) == (1, True), done
    assert len(ottla("consume", topic, "-e").lines) == 1


def test_schemas_that_cannot_be_used_are_told_before_anything_is_sent(
    ottla: Run, new_topic: NewTopic, order: str
) -> None:
    topic = new_topic()
    cases = {
        ("--schema", order): (3, f"is no version of {topic}-value"),
        ("--schema", "nowhere.avsc"): (1, "nowhere.avsc cannot be read"),
        ("--schema", "id:99999"): (3, "Schema 99999 not found"),
        ("--schema", f"nobody-{uuid4().hex}:1"): (3, "not found"),
        ("--schema", "something"): (2, "write a file, SUBJECT:VERSION or id:N"),
        ("--schema", "id:1", "--register"): (2, "--register goes with a file"),
        ("--register",): (2, "--register goes with --schema FILE"),
        ("--schema", "id:1", "--registry", "http://127.0.0.1:1"): (5, "`ottla registry`"),
    }
    for arguments, (code, told) in cases.items():
        done = ottla("produce", topic, *arguments, stdin=b'{"id":1}\n')
        assert (done.code, told in done.err.decode()) == (code, True), (arguments, done)
    assert ottla("consume", topic, "-e").out == b""


def test_tombstones_stay_tombstones(ottla: Run, reference: ConfluentKafka, new_topic: NewTopic, order: str) -> None:
    topic = new_topic()
    assert ottla("produce", topic, "--schema", order, "--register", "-k", "k", "-Z", stdin=b"\n").code == 0
    assert records(reference, topic, 1)[0].value is None
