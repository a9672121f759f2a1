"""`from_registry`: records of Confluent's clients are columns with the types of a registered schema."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from harness.registries import RegistryProcess
from harness.servers import Server
from harness.typed_purchases import AVRO, SPARK_TYPE, TEXTS, ConfluentPurchases, purchase
from ottla.pipeline import explain_failure, from_registry
from ottla.pipeline.errors import OptionError, PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

Read = Callable[..., "DataFrame"]


@pytest.mark.parametrize("schema_type", TEXTS)
def test_records_of_confluents_serializers_are_typed_columns(
    schema_type: str, server: Server, registry: RegistryProcess, read: Read, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    confluent = ConfluentPurchases(registry.url, server.bootstrap, schema_type)
    purchases = [purchase(number) for number in range(20)]
    confluent.produce(topic, purchases[:10])
    confluent.produce(topic, purchases[10:], in_header=True)
    records = read("ottla", subscribe=topic, includeHeaders="true")
    typed = records.select(
        from_registry("value", f"{topic}-value", registry=registry.url, headers="headers").alias("purchase")
    )
    assert typed.schema["purchase"].dataType.simpleString() == SPARK_TYPE
    assert [row.purchase.asDict(recursive=True) for row in typed.collect()] == purchases


def test_old_and_new_records_are_rows_of_one_schema(
    server: Server, registry: RegistryProcess, read: Read, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    subject = f"{topic}-value"
    confluent = ConfluentPurchases(registry.url, server.bootstrap, "AVRO")
    confluent.produce(topic, [purchase(0)])
    grown = AVRO.replace('{"name": "price", "type": "double"},', "").replace(
        "]}", ', {"name": "country", "type": "string", "default": "NL"}]}'
    )
    with SchemaRegistryClient({"url": registry.url}) as client:
        schema_id = client.register_schema(subject, Schema(grown, "AVRO"))
    # number 1, customer c, no tags, no note, country DE
    write(server, topic, b"\0" + schema_id.to_bytes(4) + b"\x02\x02c\0\0\x04DE")
    value = read("ottla", subscribe=topic).orderBy("offset")
    latest = value.select(from_registry("value", subject, registry=registry.url).alias("p")).select("p.*")
    assert [(row.number, row.country) for row in latest.collect()] == [(0, "NL"), (1, "DE")]
    first = value.select(from_registry("value", subject, 1, registry=registry.url, mode="PERMISSIVE").alias("p"))
    old, new = first.collect()
    assert (old.p.value.price, old.p.error) == (0.0, None)
    assert new.p.value is None
    assert "price" in new.p.error


BAD = [
    (b"", "0 bytes are too few"),
    (b"plain text", "the first byte is 112 and not 0"),
    (b"\0\0\x0f\x42\x40data", "not found"),
    (b"\0%s\x02", "the data end within a number"),
    (b"\0%s\x02\x02c" + b"\0" * 10 + b"more", "4 bytes are left behind the value"),
]


@pytest.fixture
def bad_topic(server: Server, registry: RegistryProcess, new_topic: Callable[..., str]) -> str:
    """A good record, a tombstone, and a record for each way to be bad."""
    topic = new_topic()
    ConfluentPurchases(registry.url, server.bootstrap, "AVRO").produce(topic, [purchase(7)])
    with SchemaRegistryClient({"url": registry.url}) as client:
        schema_id = client.get_latest_version(f"{topic}-value").schema_id
    write(server, topic, None, *(data.replace(b"%s", schema_id.to_bytes(4)) for data, _ in BAD))
    return topic


def test_a_bad_record_is_null_and_says_why(bad_topic: str, registry: RegistryProcess, read: Read) -> None:
    column = from_registry("value", f"{bad_topic}-value", registry=registry.url, mode="permissive")
    good, tombstone, *bad = [
        row.typed for row in read("ottla", subscribe=bad_topic).select(column.alias("typed")).collect()
    ]
    assert (good.value.asDict(recursive=True), good.error) == (purchase(7), None)
    assert (tombstone.value, tombstone.error) == (None, None)
    assert [one.value for one in bad] == [None] * len(BAD)
    for one, (_, why) in zip(bad, BAD, strict=True):
        assert why in one.error


def test_a_bad_record_ends_the_query_if_that_is_asked(bad_topic: str, registry: RegistryProcess, read: Read) -> None:
    column = from_registry("value", f"{bad_topic}-value", registry=registry.url)
    records = read("ottla", subscribe=bad_topic, endingOffsets=f'{{"{bad_topic}": {{"0": 5}}}}').where("offset > 3")
    with pytest.raises(Exception) as failure:
        records.select(column).collect()
    why = explain_failure(failure.value)
    assert why.startswith("a record with schema id 1000000 cannot be read with AVRO schema (version 1 of")
    assert f"{bad_topic}-value" in why
    assert "not found" in why


def test_passwords_stay_out_of_plans(
    server: Server, registry: RegistryProcess, read: Read, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    ConfluentPurchases(registry.url, server.bootstrap, "AVRO").produce(topic, [purchase(1)])
    given = {"schema.registry.url": registry.url, "basic.auth.user.info": "someone:secret"}
    typed = read("ottla", subscribe=topic).select(from_registry("value", f"{topic}-value", registry=given))
    execution = typed._jdf.queryExecution()
    for shown in (execution.toString(), execution.analyzed().toJSON(), str(typed.schema), str(typed)):
        assert "from_registry" in shown
        assert "secret" not in shown
    assert typed.count() == 1


WRONG: list[tuple[dict[str, Any], type[PipelineError], str]] = [
    ({"subject": "nowhere-value"}, PipelineError, "nowhere-value' not found"),
    ({"version": 9}, PipelineError, "Version 9 not found"),
    ({"version": "newest"}, OptionError, "version='newest' is not the number of a version"),
    ({"mode": "DROPMALFORMED"}, OptionError, "is not one of FAILFAST, PERMISSIVE"),
    ({"registry": "127.0.0.1:8081"}, OptionError, "write it as http://127.0.0.1:8081"),
    ({"registry": {}}, OptionError, "schema.registry.url is not set"),
]


@pytest.mark.parametrize(("given", "kind", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_what_cannot_be_typed_is_told_on_the_driver(
    given: dict[str, Any],
    kind: type[PipelineError],
    why: str,
    server: Server,
    registry: RegistryProcess,
    fresh_name: Callable[[], str],
) -> None:
    topic = fresh_name()
    ConfluentPurchases(registry.url, server.bootstrap, "AVRO").register(topic)
    with pytest.raises(kind, match=why):
        from_registry("value", **({"subject": f"{topic}-value", "registry": registry.url} | given))


def write(server: Server, topic: str, *values: bytes | None) -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
