"""Which rows become which records, and where: columns, output modes, partitions, several topics at once."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Received, Record
from harness.copying import Copying
from harness.transactions import read_by_confluent
from ottla.pipeline import write_topic
from ottla.pipeline.sink.small_batches import SmallBatches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.timeout(480), pytest.mark.filterwarnings("default")]

NOW_MS = 1_700_000_000_123
NewTopic = Callable[..., str]


@pytest.fixture(params=["tasks", "one task"])
def write(copying: Copying, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes what is there of a stream, and awaits the end: as large batches are written, and as small ones are."""
    is_small = request.param == "one task"
    monkeypatch.setattr(SmallBatches, "is_small", lambda _batches, _offsets: is_small)

    def run(frame: "DataFrame", topic: str | None = copying.output, **options: Any) -> None:
        query = write_topic(
            frame,
            name=copying.name,
            topic=topic,
            checkpoint=str(copying.checkpoint),
            options={"kafka.bootstrap.servers": copying.bootstrap},
            trigger={"availableNow": True},
            **options,
        )
        copying.finish(query)

    return run


def raw_stream(copying: Copying, **options: str) -> "DataFrame":
    given = {"subscribe": copying.input, "startingOffsets": "earliest", **options}
    return (
        copying.spark.readStream.format("ottla")
        .option("kafka.bootstrap.servers", copying.bootstrap)
        .options(**given)
        .load()
    )


def committed(reference: ConfluentKafka, topic: str, partition: int, count: int) -> list[Received]:
    return reference.read(topic, partition, 0, count, isolation=COMMITTED)


def test_every_column_of_a_record_arrives(
    copying: Copying, reference: ConfluentKafka, write: Callable[..., None]
) -> None:
    records = [
        Record(b"v", b"k", (("h", b"1"), ("h", None), ("empty", b"")), NOW_MS),
        Record(None, b"tombstone", (), NOW_MS + 1),
        Record(b"", None, (), NOW_MS + 2),
    ]
    for partition, record in enumerate(records):
        reference.produce(copying.input, [record], partition=partition)
    write(raw_stream(copying, includeHeaders="true").select("key", "value", "headers", "timestamp", "partition"))
    for partition, record in enumerate(records):
        assert committed(reference, copying.output, partition, 1)[0].record == record


def test_keys_are_where_other_producers_put_them(
    copying: Copying, write: Callable[..., None], new_topic: NewTopic
) -> None:
    keys = [b"", *(b"%d" % (number**5) for number in range(300)), "ключ".encode(), bytes(range(256))]
    by_java = new_topic(copying.partitions)
    for topic in (copying.input, by_java):
        # What Java's producer does with keys; librdkafka's own default is another.
        producer = Producer({"bootstrap.servers": copying.bootstrap, "partitioner": "murmur2_random"})
        for key in keys:
            producer.produce(topic, key, key)
        assert producer.flush(30) == 0
    write(raw_stream(copying).selectExpr("key", "value"))
    found, wanted = (
        {
            value: partition
            for partition, rows in read_by_confluent(copying.bootstrap, topic, 3).items()
            for _, value in rows
        }
        for topic in (copying.output, by_java)
    )
    assert len(found) == len(keys)
    assert found == wanted


def test_rows_without_a_key_are_spread_evenly(
    copying: Copying, reference: ConfluentKafka, write: Callable[..., None]
) -> None:
    reference.produce(copying.input, [Record(b"%d" % number) for number in range(90)])
    write(raw_stream(copying, maxOffsetsPerTrigger="31").selectExpr("value"))
    found = read_by_confluent(copying.bootstrap, copying.output, copying.partitions)
    counts = [len(rows) for rows in found.values()]
    assert sum(counts) == 90
    assert max(counts) - min(counts) <= 3


def test_one_batch_goes_to_several_topics(
    copying: Copying, reference: ConfluentKafka, write: Callable[..., None], new_topic: NewTopic
) -> None:
    even, odd = new_topic(2), new_topic(1)
    for turn in range(2):
        reference.produce(copying.input, [Record(b"%d" % number) for number in range(20 * turn, 20 * turn + 20)])
        write(
            raw_stream(copying).selectExpr(
                f"if(cast(cast(value AS string) AS int) % 2 = 0, '{even}', '{odd}') AS topic", "value", "value AS key"
            ),
            None,
        )
    assert [one.record.value for one in committed(reference, odd, 0, 20)] == [b"%d" % n for n in range(1, 40, 2)]
    evens = read_by_confluent(copying.bootstrap, even, 2)
    assert sorted(int(value) for rows in evens.values() for _, value in rows) == list(range(0, 40, 2))


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_an_aggregation_is_written_as_it_changes(
    copying: Copying, reference: ConfluentKafka, write: Callable[..., None], mode: str
) -> None:
    counted = raw_stream(copying).groupBy("key").count().selectExpr("key", "cast(count AS string) AS value")
    reference.produce(copying.input, [Record(b"", b"a"), Record(b"", b"b"), Record(b"", b"a")])
    write(counted, output_mode=mode)
    reference.produce(copying.input, [Record(b"", b"b")])
    write(counted, output_mode=mode)
    found = Counter(row for rows in read_by_confluent(copying.bootstrap, copying.output, 3).values() for row in rows)
    again = {(b"a", b"2"): 2} if mode == "complete" else {(b"a", b"2"): 1}
    assert found == Counter({(b"b", b"1"): 1, (b"b", b"2"): 1, **again})


def test_a_partition_or_a_topic_that_does_not_exist_fails_the_batch_and_nothing_of_it_is_seen(
    copying: Copying, reference: ConfluentKafka, write: Callable[..., None]
) -> None:
    reference.produce(copying.input, [Record(b"%d" % number) for number in range(10)])
    with pytest.raises(StreamingQueryException, match="partition 3 of "):
        write(raw_stream(copying).selectExpr("value", "cast(if(value = X'39', 3, 0) AS int) AS partition"))
    with pytest.raises(StreamingQueryException, match="topic that does not exist: nowhere"):
        write(
            raw_stream(copying).selectExpr("value", f"if(value = X'39', 'nowhere', '{copying.output}') AS topic"), None
        )
    assert read_by_confluent(copying.bootstrap, copying.output, 3) == {0: [], 1: [], 2: []}
    # The same checkpoint: the batch is written when its rows can be.
    write(raw_stream(copying).selectExpr("value", "0 AS partition"))
    assert [one.record.value for one in committed(reference, copying.output, 0, 10)] == [b"%d" % n for n in range(10)]
