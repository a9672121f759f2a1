"""`to_registry`: Confluent's clients read what it wrote, and a typed stream goes into a typed topic exactly once."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.registries import RegistryProcess
from harness.servers import Server
from harness.typed_purchases import AVRO, SPARK_TYPE, TEXTS, ConfluentPurchases, purchase
from ottla.pipeline import explain_failure, from_registry, to_registry, write_topic
from ottla.pipeline.errors import OptionError, PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]


@pytest.fixture
def purchases(spark: "SparkSession") -> "DataFrame":
    """A column `purchase`, and a null after those that are there."""
    return spark.createDataFrame([*((purchase(number),) for number in range(10)), (None,)], f"purchase {SPARK_TYPE}")


@pytest.mark.parametrize("schema_type", TEXTS)
def test_confluents_deserializers_read_what_was_written(
    schema_type: str,
    purchases: "DataFrame",
    server: Server,
    registry: RegistryProcess,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
) -> None:
    topic = new_topic()
    given: dict[str, Any] = {"subject": f"{topic}-value", "registry": registry.url}
    registering = {"schema": TEXTS[schema_type], "schema_type": schema_type, "register": True}
    framed = purchases.select(to_registry("purchase", **given, **registering).alias("value"))
    carried = purchases.select(to_registry("purchase", **given, ids="header").alias("record")).select("record.*")
    for frame in (framed, carried):
        writer = frame.coalesce(1).write.format("ottla").mode("append").option("topic", topic)
        writer.option("kafka.bootstrap.servers", server.bootstrap).save()
    confluent = ConfluentPurchases(registry.url, server.bootstrap, schema_type)
    records = [one.record for one in reference.read(topic, 0, 0, 22)]
    for written in (records[:11], records[11:]):
        *there, tombstone = written
        assert (tombstone.value, tombstone.headers) == (None, ())
        found = [confluent.deserialize(topic, one.value or b"", list(one.headers)) for one in there]
        assert found == [purchase(number) for number in range(10)]
    assert [len(one.headers) for one in records] == [0] * 11 + [1] * 10 + [0]


def test_a_typed_stream_is_written_exactly_once(
    spark: "SparkSession",
    server: Server,
    registry: RegistryProcess,
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    source, target, name = new_topic(2), new_topic(2), fresh_name()
    servers = {"kafka.bootstrap.servers": server.bootstrap}
    confluent = ConfluentPurchases(registry.url, server.bootstrap, "AVRO")
    ConfluentPurchases(registry.url, server.bootstrap, "JSON").register(target)

    def run() -> None:
        stream = spark.readStream.format("ottla").options(**servers, subscribe=source, startingOffsets="earliest")
        typed = stream.load().select(from_registry("value", f"{source}-value", registry=registry.url).alias("p"))
        cheap = typed.where("p.price < 2").select(
            to_registry("p", f"{target}-value", registry=registry.url).alias("value")
        )
        query = write_topic(
            cheap, name=name, topic=target, checkpoint=tmp_path, options=servers, trigger={"availableNow": True}
        )
        assert query.awaitTermination(120)

    confluent.produce(source, [purchase(number) for number in range(6)])
    run()
    confluent.produce(source, [purchase(number) for number in range(6, 20)])
    run()
    found = spark.read.format("ottla").options(**servers, subscribe=target).load()
    numbers = found.select(from_registry("value", f"{target}-value", registry=registry.url).alias("p")).select(
        "p.number"
    )
    assert sorted(row.number for row in numbers.collect()) == list(range(8))


MISFITS = [
    ("struct(1L AS number)", "at /customer: there is no value, and the field has no default"),
    ("struct(purchase.*, 1 AS colour)", "the schema has no field colour"),
    ("named_struct('number', 'one', 'customer', 'c', 'price', 1D, 'tags', array('a'))", "at /number"),
]


@pytest.mark.parametrize(("column", "why"), MISFITS, ids=[why for _, why in MISFITS])
def test_a_row_that_does_not_fit_ends_the_query(
    column: str,
    why: str,
    purchases: "DataFrame",
    server: Server,
    registry: RegistryProcess,
    fresh_name: Callable[[], str],
) -> None:
    topic = fresh_name()
    ConfluentPurchases(registry.url, server.bootstrap, "AVRO").register(topic)
    frame = purchases.selectExpr(f"{column} AS row")
    with pytest.raises(Exception) as failure:
        frame.select(to_registry("row", f"{topic}-value", registry=registry.url)).collect()
    assert why in explain_failure(failure.value)


WRONG: list[tuple[dict[str, Any], type[PipelineError], str]] = [
    ({"schema": '{"type": "string"}'}, PipelineError, "Schema not found"),
    ({"schema": '{"type": "long"}', "register": True}, PipelineError, "incompatible"),
    ({"register": True}, OptionError, "give it as schema"),
    ({"schema": AVRO, "version": 1}, OptionError, "give one of them"),
    ({"schema": AVRO, "schema_type": "XML"}, OptionError, "schema_type='XML' is not one of AVRO, JSON, PROTOBUF"),
    ({"ids": "trailer"}, OptionError, "ids='trailer' is not one of prefix, header"),
    ({"message": "shop.Purchase"}, PipelineError, "names a message of Protobuf"),
]


@pytest.mark.parametrize(("given", "kind", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_what_cannot_be_written_with_is_told_on_the_driver(
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
        to_registry("purchase", f"{topic}-value", registry=registry.url, **given)
