"""Spark's own Kafka connector: batch and streaming, as source and as sink."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, Record
from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

NOW_MS = 1_700_000_000_000


@pytest.fixture
def load(spark: "SparkSession", server: Server) -> "Callable[..., DataFrame]":
    def run(**options: str) -> "DataFrame":
        return spark.read.format("kafka").option("kafka.bootstrap.servers", server.bootstrap).options(**options).load()

    return run


def values(frame: "DataFrame") -> list[bytes]:
    rows = frame.select("partition", "offset", "value").orderBy("partition", "offset").collect()
    return [bytes(row.value) for row in rows]


def test_a_batch_reads_every_column(
    load: "Callable[..., DataFrame]", reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    reference.produce(topic, [Record(b"v", b"k", (("h", b"1"),), NOW_MS)], partition=1)
    [row] = load(subscribe=topic, includeHeaders="true").collect()
    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (b"k", b"v", topic, 1, 0)
    assert row.timestampType == 0
    assert row.timestamp.timestamp() * 1000 == NOW_MS
    assert [(header.key, bytes(header.value)) for header in row.headers] == [("h", b"1")]


def test_a_batch_reads_every_codec(
    load: "Callable[..., DataFrame]", reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(len(ALL_CODECS))
    for partition, codec in enumerate(ALL_CODECS):
        reference.produce(topic, [Record(codec.encode()) for _ in range(50)], partition=partition, codec=codec)
    assert values(load(subscribe=topic)) == [c.encode() for c in ALL_CODECS for _ in range(50)]


def test_a_batch_starts_and_ends_where_it_is_told(
    load: "Callable[..., DataFrame]", reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % n, timestamp_ms=NOW_MS + n) for n in range(20)])
    by_offset = {
        "startingOffsets": json.dumps({topic: {"0": 5}}),
        "endingOffsets": json.dumps({topic: {"0": 8}}),
    }
    assert values(load(subscribe=topic, **by_offset)) == [b"5", b"6", b"7"]
    by_time = {"startingTimestamp": str(NOW_MS + 15), "endingTimestamp": str(NOW_MS + 17)}
    assert values(load(subscribe=topic, **by_time)) == [b"15", b"16"]


def test_a_batch_subscribes_by_pattern_and_by_partition(
    load: "Callable[..., DataFrame]", reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    first, second = new_topic(), new_topic(2)
    reference.produce(first, [Record(b"first")])
    reference.produce(second, [Record(b"second")], partition=1)
    found = load(subscribePattern=f"({first}|{second})")
    assert sorted(bytes(row.value) for row in found.collect()) == [b"first", b"second"]
    assert values(load(assign=json.dumps({second: [1]}))) == [b"second"]


def test_a_batch_writes_keys_headers_and_partitions(
    spark: "SparkSession", server: Server, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    schema = "key binary, value binary, partition int, headers array<struct<key:string,value:binary>>"
    rows = [(b"k", b"to 1", 1, [("h", b"1")]), (None, b"to 0", 0, None)]
    frame = spark.createDataFrame(rows, schema)
    options = {"kafka.bootstrap.servers": server.bootstrap, "topic": topic, "includeHeaders": "true"}
    frame.write.format("kafka").options(**options).save()
    stored = reference.read(topic, 1, 0, 1)[0].record
    assert (stored.key, stored.value, stored.headers) == (b"k", b"to 1", (("h", b"1"),))
    assert reference.read(topic, 0, 0, 1)[0].record.value == b"to 0"


def test_a_stream_copies_a_topic_and_resumes_from_its_checkpoint(
    spark: "SparkSession",
    server: Server,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    origin, copy = new_topic(2), new_topic()

    def run() -> None:
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", server.bootstrap)
            .option("subscribe", origin)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "150")
            .load()
        )
        query = (
            stream.selectExpr("key", "upper(cast(value as string)) as value")
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", server.bootstrap)
            .option("topic", copy)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(180)

    for partition in range(2):
        reference.produce(origin, [Record(b"early %d" % n) for n in range(200)], partition=partition)
    run()
    for partition in range(2):
        reference.produce(origin, [Record(b"late %d" % n) for n in range(20)], partition=partition)
    run()

    assert reference.end_offset(copy, 0) == 440
    copied = [one.record.value for one in reference.read(copy, 0, 0, 440)]
    assert sorted(copied[:400]) == sorted(b"EARLY %d" % n for n in range(200) for _ in range(2))
    assert sorted(copied[400:]) == sorted(b"LATE %d" % n for n in range(20) for _ in range(2))
