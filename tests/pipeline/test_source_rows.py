"""The rows of a batch are those of Spark's own Kafka connector, whatever is in the topic."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, COMMITTED, UNCOMMITTED, Record
from harness.transactions import NewProducer
from harness.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

NOW_MS = 1_700_000_000_000

Read = Callable[..., "DataFrame"]


def rows(frame: "DataFrame") -> list[dict[str, Any]]:
    found = frame.orderBy("topic", "partition", "offset").collect()
    return [row.asDict(recursive=True) for row in found]


def same_rows(read: Read, **options: str) -> list[dict[str, Any]]:
    """What both sources return for the same options."""
    ours, stock = read("ottla", **options), read("kafka", **options)
    assert ours.schema == stock.schema
    found = rows(ours)
    assert found == rows(stock)
    return found


def test_every_column_has_the_value_and_type_of_the_stock_connector(
    read: Read, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(3)
    records = [
        Record(b"v", b"k", (("h", b"1"), ("h", b""), ("ü", None)), NOW_MS),
        Record(None, b"k", (), NOW_MS + 1),
        Record(b"", None, (), NOW_MS + 999_999),
        Record(bytes(range(256)), b"", (("only", b"\0\xff"),), 0),
    ]
    reference.produce(topic, records, partition=1)
    reference.produce(topic, records[:2], partition=2)
    with_headers = same_rows(read, subscribe=topic, includeHeaders="true")
    assert [row["headers"] for row in with_headers[:2]] == [
        [{"key": "h", "value": b"1"}, {"key": "h", "value": b""}, {"key": "ü", "value": None}],
        None,
    ]
    without = same_rows(read, subscribe=topic)
    assert [(row["partition"], row["offset"]) for row in without] == [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]


def test_every_codec_is_read(read: Read, reference: ConfluentKafka, new_topic: Callable[..., str]) -> None:
    topic = new_topic(len(ALL_CODECS))
    for partition, codec in enumerate(ALL_CODECS):
        reference.produce(topic, [Record(b"%d" % n * 20) for n in range(200)], partition=partition, codec=codec)
    assert len(same_rows(read, subscribe=topic)) == 200 * len(ALL_CODECS)


def test_times_that_the_broker_sets_are_told_apart(
    read: Read, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(configs={"message.timestamp.type": "LogAppendTime"})
    reference.produce(topic, [Record(b"a", timestamp_ms=NOW_MS), Record(b"b", timestamp_ms=NOW_MS)])
    assert {row["timestampType"] for row in same_rows(read, subscribe=topic)} == {1}


def test_an_empty_topic_has_no_rows(read: Read, new_topic: Callable[..., str]) -> None:
    assert same_rows(read, subscribe=new_topic(2), includeHeaders="true") == []


def test_a_compacted_topic_is_read_across_its_gaps(
    read: Read, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
    }
    topic = new_topic(configs=settings)

    def second_record() -> int:
        # Each round closes a segment, which only then may be compacted; the first record of a round has its own key.
        own = Record(b"own", b"%d" % reference.end_offset(topic, 0))
        reference.produce(topic, [own, *(Record(b"%d" % n, b"%d" % (n % 3)) for n in range(30))])
        return reference.read(topic, 0, 1, 1)[0].offset

    eventually(second_record, lambda offset: offset > 1, timeout_s=90)

    def read_by_both() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return rows(read("ottla", subscribe=topic)), rows(read("kafka", subscribe=topic))

    # The last rounds may be compacted between the two, once.
    found, _ = eventually(read_by_both, lambda both: both[0] == both[1])
    assert found[1]["offset"] > found[0]["offset"] + 1


@pytest.mark.parametrize("isolation", [COMMITTED, UNCOMMITTED])
def test_a_transactional_topic_is_read_at_both_isolation_levels(
    isolation: str,
    read: Read,
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    open_producer: NewProducer,
) -> None:
    topic = new_topic(2)
    producer = open_producer(reference)
    for number, ends in enumerate((producer.commit, producer.abort, producer.commit, producer.abort)):
        producer.begin()
        producer.send(topic, 0, *(b"%d" % number for _ in range(50)))
        producer.send(topic, 1, b"%d" % number)
        ends()
    reference.produce(topic, [Record(b"plain")])
    still_open = open_producer(reference)
    still_open.begin()
    still_open.send(topic, 0, b"open")
    options = {"subscribe": topic, "kafka.isolation.level": isolation}
    found = {row["value"] for row in same_rows(read, **options)}
    assert found == ({b"0", b"2", b"plain"} if isolation == COMMITTED else {b"0", b"1", b"2", b"3", b"plain", b"open"})
