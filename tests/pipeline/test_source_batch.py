"""Where a batch begins and ends, how it is split, and what it refuses."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

NOW_MS = 1_700_000_000_000

Read = Callable[..., "DataFrame"]
NewTopic = Callable[..., str]


def values(frame: "DataFrame") -> list[bytes]:
    rows = frame.select("topic", "partition", "offset", "value").collect()
    return [bytes(row.value) for row in sorted(rows)]


def produce_numbers(reference: ConfluentKafka, topic: str, count: int, partition: int = 0) -> None:
    records = [Record(b"%d" % n, timestamp_ms=NOW_MS + n) for n in range(count)]
    reference.produce(topic, records, partition=partition)


def test_a_batch_starts_and_ends_where_it_is_told(read: Read, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    for partition in range(2):
        produce_numbers(reference, topic, 20, partition)

    def numbers(first: int, second: int) -> str:
        return json.dumps({topic: {"0": first, "1": second}})

    ways = {
        "offsets": {"startingOffsets": numbers(5, -2), "endingOffsets": numbers(8, 2)},
        "latest as -1": {"startingOffsets": numbers(19, 18), "endingOffsets": numbers(-1, -1)},
        "one time": {"startingTimestamp": str(NOW_MS + 15), "endingTimestamp": str(NOW_MS + 17)},
        "times": {
            "startingOffsetsByTimestamp": numbers(NOW_MS + 3, NOW_MS + 18),
            "endingOffsetsByTimestamp": numbers(NOW_MS + 5, NOW_MS + 99),
        },
        "after the last record": {
            "startingTimestamp": str(NOW_MS + 99),
            "startingOffsetsByTimestampStrategy": "latest",
        },
        "a time before offsets": {"startingTimestamp": str(NOW_MS + 19), "startingOffsets": numbers(0, 0)},
    }
    expected = {
        "offsets": [b"5", b"6", b"7", b"0", b"1"],
        "latest as -1": [b"19", b"18", b"19"],
        "one time": [b"15", b"16", b"15", b"16"],
        "times": [b"3", b"4", b"18", b"19"],
        "after the last record": [],
        "a time before offsets": [b"19", b"19"],
    }
    assert {way: values(read("ottla", subscribe=topic, **options)) for way, options in ways.items()} == expected
    assert {way: values(read("kafka", subscribe=topic, **options)) for way, options in ways.items()} == expected


def test_topics_are_chosen_by_name_by_pattern_and_by_partition(
    read: Read, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    first, second = new_topic(), new_topic(2)
    reference.produce(first, [Record(b"first")])
    reference.produce(second, [Record(b"second")], partition=1)
    ways = {
        "subscribe": f" {first} , {second} ",
        "subscribePattern": f"({first}|{second}).*",
        "assign": json.dumps({second: [1], first: [0]}),
    }
    for way, value in ways.items():
        assert values(read("ottla", **{way: value})) == [b"first", b"second"], way
    assert values(read("ottla", assign=json.dumps({second: [0]}))) == []
    # A pattern is for whole names.
    assert values(read("ottla", subscribePattern=first[1:])) == []


def test_a_batch_starts_where_a_group_has_committed(
    read: Read, reference: ConfluentKafka, new_topic: NewTopic, fresh_name: Callable[[], str]
) -> None:
    topic, group = new_topic(2), fresh_name()
    produce_numbers(reference, topic, 5)
    reference.consume(topic, group, 5)
    produce_numbers(reference, topic, 3)
    # The group read nothing of the other partition.
    produce_numbers(reference, topic, 2, partition=1)
    options = {"subscribe": topic, "startingOffsets": "committed", "kafka.group.id": group}
    assert values(read("ottla", **options)) == [b"0", b"1", b"2", b"0", b"1"]


def test_a_batch_is_split_as_asked(read: Read, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    for partition in range(3):
        produce_numbers(reference, topic, 40, partition)
    few = read("ottla", subscribe=topic)
    assert few.rdd.getNumPartitions() == 1
    for option in ({"minPartitions": "4"}, {"maxRecordsPerPartition": "30"}):
        split = read("ottla", subscribe=topic, **option)
        assert split.rdd.getNumPartitions() == 4
        assert values(split) == [b"%d" % n for n in range(40)] * 3


def test_small_fetches_and_records_larger_than_them_are_read(
    read: Read, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    records = [Record(b"%d" % n * (50_000 if n % 10 == 0 else 10)) for n in range(60)]
    for partition in range(2):
        reference.produce(topic, records, partition=partition)
    options = {"kafka.max.partition.fetch.bytes": "20000", "kafka.fetch.max.bytes": "30000"}
    assert values(read("ottla", subscribe=topic, **options)) == [record.value for record in records] * 2


@pytest.mark.parametrize("fails", ["true", "false"])
def test_offsets_that_are_gone_are_an_error_or_passed_over(
    fails: str, read: Read, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic()
    produce_numbers(reference, topic, 10)
    reference.delete_records(topic, 0, 7)
    frame = read("ottla", subscribe=topic, startingOffsets=json.dumps({topic: {"0": 2}}), failOnDataLoss=fails)
    if fails == "false":
        assert values(frame) == [b"7", b"8", b"9"]
    else:
        with pytest.raises(Exception, match=f"offset 2 of {topic}-0 does not exist: it begins at 7 and ends at 10"):
            frame.collect()


def test_what_cannot_be_read_is_named(
    read: Read, reference: ConfluentKafka, new_topic: NewTopic, spark: "SparkSession", server: Server
) -> None:
    topic = new_topic(2)
    refused = {
        "there is no topic 'nobody-has-this-one' at": {"subscribe": "nobody-has-this-one"},
        f"there is no partition {topic}-7": {"assign": json.dumps({topic: [0, 7]})},
        f"startingOffsets does not name {topic}-1": {
            "subscribe": topic,
            "startingOffsets": json.dumps({topic: {"0": 0}}),
        },
        "startingTimestamp: no record is as late as that": {"subscribe": topic, "startingTimestamp": str(NOW_MS)},
        "is subscribePattern meant": {"subscribePatern": topic},
        "a batch cannot start at latest": {"subscribe": topic, "startingOffsets": "latest"},
        "write kafka.group.id": {"subscribe": topic, "group.id": "g"},
    }
    for message, options in refused.items():
        with pytest.raises(Exception, match=message):
            read("ottla", **options).collect()
    with pytest.raises(Exception, match="connecting to the cluster"):
        read("ottla", subscribe=topic, **{"kafka.bootstrap.servers": "127.0.0.1:1"}).collect()
    with pytest.raises(Exception, match="takes no schema"):
        spark.read.format("ottla").schema("value string").option("subscribe", topic).option(
            "kafka.bootstrap.servers", server.bootstrap
        ).load().collect()
