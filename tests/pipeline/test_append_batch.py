"""`df.write.format("ottla")`: rows arrive as they are, where Spark's own sink for Kafka puts them; or none of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from ottla.pipeline import partitioned
from ottla.pipeline.failures import find_reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

HEADERS = "headers array<struct<key:string,value:binary>>"

Append = Callable[..., None]


@pytest.fixture
def append(server: Server) -> Append:
    """Writes a DataFrame: `append(df, topic=...)`."""

    def write(df: "DataFrame", sink: str = "ottla", mode: str | None = "append", **options: str) -> None:
        given = {name.replace("_", "."): value for name, value in options.items()}
        writer = df.write.format(sink).option("kafka.bootstrap.servers", server.bootstrap).options(**given)
        (writer if mode is None else writer.mode(mode)).save()

    return write


def stored(reference: ConfluentKafka, topic: str, partition: int) -> list[Record]:
    count = reference.end_offset(topic, partition)
    return [one.record for one in reference.read(topic, partition, 0, count)]


def test_every_column_arrives_as_it_was_written(
    spark: "SparkSession", append: Append, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    first, second = new_topic(3), new_topic()
    rows: Sequence[Any] = [
        (first, 2, b"k", "a", 1_700_000_000_123, [("h", b"1"), ("h", None)]),
        (first, 2, None, None, 1_700_000_000_456, []),
        (second, None, b"", "", 1_700_000_000_789, None),
    ]
    df = spark.createDataFrame(rows, f"topic string, partition int, key binary, value string, at long, {HEADERS}")
    df = df.selectExpr("topic", "partition", "key", "value", "timestamp_millis(at) AS timestamp", "headers")
    append(df.coalesce(1))
    assert stored(reference, first, 2) == [
        Record(b"a", b"k", (("h", b"1"), ("h", None)), 1_700_000_000_123),
        Record(None, None, (), 1_700_000_000_456),
    ]
    assert stored(reference, second, 0) == [Record(b"", b"", (), 1_700_000_000_789)]


def test_rows_go_where_sparks_own_sink_puts_them(
    spark: "SparkSession", append: Append, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    ours, stock = new_topic(5), new_topic(5)
    keys = ["", "k", "ž", *(f"customer {n}" * (n % 5 + 1) for n in range(100))]
    rows: Sequence[Any] = [
        (key, f"{n}", n % 5 if n % 10 == 0 else None, [("n", b"%d" % n)]) for n, key in enumerate(keys)
    ]
    df = spark.createDataFrame(rows, f"key string, value string, partition int, {HEADERS}").coalesce(1)
    append(df, topic=ours)
    append(df, sink="kafka", topic=stock, includeHeaders="true")
    for partition in range(5):
        found, expected = (
            [(one.key, one.value, one.headers) for one in stored(reference, topic, partition)]
            for topic in (ours, stock)
        )
        assert found == expected


def test_rows_without_a_key_are_spread_evenly(
    spark: "SparkSession", append: Append, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(3)
    df = spark.range(0, 60, 1, 2).selectExpr("CAST(id AS string) AS value", "'elsewhere' AS topic")
    append(df, topic=topic, kafka_acks="1", kafka_compression_type="lz4")
    values = [[one.value for one in stored(reference, topic, partition)] for partition in range(3)]
    assert [len(found) for found in values] == [20, 20, 20]
    assert {value for found in values for value in found} == {b"%d" % n for n in range(60)}


BAD = [
    ({"mode": "overwrite"}, "'v' AS value", "records in a topic cannot be replaced"),
    ({"mode": "ignore"}, "'v' AS value", "Append"),
    ({"mode": None}, "'v' AS value", "Append"),
    ({"kafka_acks": "some"}, "'v' AS value", "kafka.acks=some is not one of"),
    ({"transactional_id": "x"}, "'v' AS value", "begin with kafka."),
    ({}, "'k' AS key", "there is no column value"),
    ({}, "1 AS value", "column value is int, but must be string or binary"),
    ({}, "'v' AS value, 1L AS partition", "column partition is bigint"),
    ({}, "'v' AS value, 1 AS amount", "a record has no amount"),
    ({}, "'v' AS value, 9 AS partition", "which has 2 (from 0)"),
    ({"topic": ""}, "'v' AS value", "the option topic is empty"),
    ({"topic": "a/b"}, "'v' AS value", "topic a/b cannot be written to"),
    ({"topic": None}, "'v' AS value", "no topic is given"),
    ({"topic": None}, "'v' AS value, CAST(null AS string) AS topic", "a row has null in its column topic"),
]


@pytest.mark.parametrize(("options", "columns", "why"), BAD, ids=[why for _, _, why in BAD])
def test_what_cannot_be_written_is_told(
    spark: "SparkSession",
    append: Append,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    options: dict[str, Any],
    columns: str,
    why: str,
) -> None:
    topic = new_topic(2)
    given = {name: value for name, value in ({"topic": topic} | options).items() if value is not None or name == "mode"}
    with pytest.raises(Exception) as refusal:
        append(spark.range(0, 3, 1, 1).selectExpr(*columns.split(", ")), **given)
    assert why in find_reason(refusal.value)
    assert reference.end_offset(topic, 0) == reference.end_offset(topic, 1) == 0


def test_a_transaction_writes_all_partitions_or_none(
    spark: "SparkSession",
    server: Server,
    append: Append,
    read: "Callable[..., DataFrame]",
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
) -> None:
    from pyspark.sql import functions as F

    topic, name = new_topic(4), fresh_name()
    options = {"kafka.bootstrap.servers": server.bootstrap, "kafka.transactional.id": name}
    df = spark.range(0, 200, 1, 3).selectExpr("CAST(id AS string) AS key", "CAST(id AS string) AS value")

    def visible() -> list[int]:
        found = read("ottla", subscribe=topic, **{"kafka.isolation.level": "read_committed"})
        return sorted(int(row.value) for row in found.collect())

    fails_late = F.when(F.col("key") == "199", F.raise_error(F.lit("a bad row"))).otherwise(F.col("value"))
    with pytest.raises(Exception, match="a bad row"):
        append(
            partitioned(df, topic=topic, options=options).withColumn("value", fails_late), kafka_transactional_id=name
        )
    assert visible() == []
    append(partitioned(df, topic=topic, options=options), kafka_transactional_id=name)
    assert visible() == list(range(200))
    append(df.where("false"), topic=topic, kafka_transactional_id=name)
    assert visible() == list(range(200))


def test_tasks_that_share_a_partition_are_refused_in_a_transaction(
    spark: "SparkSession",
    append: Append,
    read: "Callable[..., DataFrame]",
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
) -> None:
    topic = new_topic(1)
    with pytest.raises(Exception) as refusal:
        append(
            spark.range(0, 20, 1, 2).selectExpr("CAST(id AS string) AS value"),
            topic=topic,
            kafka_transactional_id=fresh_name(),
        )
    assert "ottla.pipeline.partitioned" in find_reason(refusal.value)
    assert read("ottla", subscribe=topic, **{"kafka.isolation.level": "read_committed"}).count() == 0
