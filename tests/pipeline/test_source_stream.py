"""A stream of topics: where its batches begin and end, what its checkpoint and progress hold, what it survives."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import COMMITTED, Record
from harness.servers import Server
from harness.transactions import NewProducer, committed_offsets
from harness.waiting import eventually
from ottla.client import TopicPartition
from ottla.client.sync import Client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

ReadStream = Callable[..., "DataFrame"]
NewTopic = Callable[..., str]

QUERY_TIMEOUT_S = 120


class Collected:
    """The rows of each batch of a query, in the order in which it wrote them."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []

    def __call__(self, frame: "DataFrame", _batch_id: int) -> None:
        found = sorted(frame.select("topic", "partition", "offset", "value").collect())
        self.batches.append([bytes(row.value) for row in found])

    @property
    def values(self) -> list[bytes]:
        return sorted(value for batch in self.batches for value in batch)


def read_now(frame: "DataFrame", checkpoint: Path) -> tuple[Collected, "StreamingQuery"]:
    """Everything that is there, and then the end."""
    collected = Collected()
    writer = frame.writeStream.foreachBatch(collected).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(QUERY_TIMEOUT_S)
    return collected, query


@contextmanager
def running(frame: "DataFrame", checkpoint: Path) -> "Iterator[tuple[Collected, StreamingQuery]]":
    collected = Collected()
    query = frame.writeStream.foreachBatch(collected).option("checkpointLocation", str(checkpoint)).start()
    try:
        yield collected, query
    finally:
        query.stop()


def waited(query: "StreamingQuery", look: Callable[[], Any], accept: Callable[[Any], object]) -> None:
    """What a query brings; its own failure is told at once."""

    def alive_look() -> Any:
        if (error := query.exception()) is not None:
            raise error
        return look()

    eventually(alive_look, accept, timeout_s=QUERY_TIMEOUT_S)


def stored_offsets(checkpoint: Path, batch: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads((checkpoint / "offsets" / str(batch)).read_text().splitlines()[2])
    return found


def progress_offset(query: "StreamingQuery", name: str) -> Any:
    assert query.lastProgress is not None
    return json.loads(query.lastProgress["sources"][0][name])


def numbers(first: int, until: int) -> list[bytes]:
    return [b"%03d" % n for n in range(first, until)]


def produce(reference: ConfluentKafka, topic: str, values: list[bytes], partition: int = 0) -> None:
    reference.produce(topic, [Record(value) for value in values], partition=partition)


def test_a_stream_reads_what_is_there_in_limited_batches_and_resumes_from_its_checkpoint(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(2)
    produce(reference, topic, numbers(0, 60), 0)
    produce(reference, topic, numbers(60, 80), 1)
    stream = read_stream("ottla", subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="40")
    first, query = read_now(stream, tmp_path)
    # In proportion: three quarters of what is there are in the first partition.
    assert first.batches == [[*numbers(0, 30), *numbers(60, 70)], [*numbers(30, 60), *numbers(70, 80)]]
    assert stored_offsets(tmp_path, 0) == {topic: {"0": 30, "1": 10}, "#start": {f"{topic}-0": 0, f"{topic}-1": 0}}
    assert stored_offsets(tmp_path, 1) == {topic: {"0": 60, "1": 20}}

    produce(reference, topic, numbers(80, 85), 1)
    second, query = read_now(stream, tmp_path)
    assert second.values == numbers(80, 85)
    assert progress_offset(query, "startOffset") == {topic: {"0": 60, "1": 20}}
    assert progress_offset(query, "endOffset") == {topic: {"0": 60, "1": 25}}


def test_a_checkpoint_of_the_stock_connector_and_ours_hold_the_same_offsets(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(2)
    produce(reference, topic, numbers(0, 50), 0)
    produce(reference, topic, numbers(50, 57), 1)
    batches = {}
    for source in ("ottla", "kafka"):
        stream = read_stream(source, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="20")
        collected, _ = read_now(stream, tmp_path / source)
        offsets = [stored_offsets(tmp_path / source, batch) for batch in range(len(collected.batches))]
        # The stock connector has a file of its own for it.
        offsets[0].pop("#start", None)
        batches[source] = (collected.batches, offsets)
    assert batches["ottla"] == batches["kafka"]


class Death(Exception):
    """The driver is no more."""


def dies_in_its_first_batch(frame: "DataFrame", checkpoint: Path, before: Callable[[], None]) -> None:
    """A query whose first batch is planned, and not run."""

    def die(_frame: "DataFrame", _batch_id: int) -> None:
        before()
        raise Death("the driver is gone")

    query = frame.writeStream.foreachBatch(die).option("checkpointLocation", str(checkpoint)).start()
    with pytest.raises(Exception, match="the driver is gone"):
        query.awaitTermination(QUERY_TIMEOUT_S)
    assert (checkpoint / "offsets" / "0").exists()
    assert not (checkpoint / "commits" / "0").exists()


@pytest.mark.parametrize("source", ["ottla", "kafka"])
def test_a_stream_from_the_end_that_dies_in_its_first_batch_goes_on_from_where_it_started(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path, source: str
) -> None:
    topic = new_topic()
    produce(reference, topic, numbers(0, 30))
    stream = read_stream(source, subscribe=topic)
    dies_in_its_first_batch(stream, tmp_path, lambda: produce(reference, topic, numbers(30, 45)))
    assert stored_offsets(tmp_path, 0) == {topic: {"0": 30}}
    reference.add_partitions(topic, 2)
    eventually(reference.topics, lambda topics: topics[topic] == 2)
    collected, _ = read_now(stream, tmp_path)
    assert collected.values == numbers(30, 45)


@pytest.mark.parametrize("source", ["ottla", "kafka"])
def test_records_that_are_deleted_while_a_stream_is_dead_in_its_first_batch_are_missed(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path, source: str
) -> None:
    topic = new_topic()
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    produce(reference, topic, numbers(0, 30))
    dies_in_its_first_batch(read_stream(source, **options), tmp_path, lambda: None)
    reference.delete_records(topic, 0, 10)
    told = f"offsets 0 to 9 of {topic}-0 are gone" if source == "ottla" else "data may have been lost"
    with pytest.raises(Exception, match=told):
        read_now(read_stream(source, **options), tmp_path)
    collected, _ = read_now(read_stream(source, failOnDataLoss="false", **options), tmp_path)
    assert collected.values == numbers(10, 30)


def test_a_stream_from_what_a_group_committed_that_dies_in_its_first_batch_reads_it_again(
    read_stream: ReadStream, server: Server, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic()
    produce(reference, topic, numbers(0, 10))
    options = {"subscribe": topic, "startingOffsets": "committed", "kafka.group.id": f"group-{topic}"}

    def commit() -> None:
        with Client(server.bootstrap) as client:
            client.admin.alter_group_offsets(f"group-{topic}", {TopicPartition(topic, 0): 10})

    dies_in_its_first_batch(read_stream("ottla", **options), tmp_path, commit)
    assert stored_offsets(tmp_path, 0) == {topic: {"0": 10}, "#start": {f"{topic}-0": 0}}
    collected, _ = read_now(read_stream("ottla", **options), tmp_path)
    assert collected.values == numbers(0, 10)
    # Nothing new: there is no second batch, though the first offset looks different from others.
    assert not (tmp_path / "offsets" / "1").exists()
    produce(reference, topic, numbers(10, 12))
    collected, _ = read_now(read_stream("ottla", **options), tmp_path)
    assert collected.values == numbers(10, 12)
    assert stored_offsets(tmp_path, 1) == {topic: {"0": 12}}


def test_a_stream_starts_at_the_end_by_default_and_tells_its_lag(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(2)
    produce(reference, topic, numbers(0, 5))
    limited = read_stream("ottla", subscribe=topic, maxOffsetsPerTrigger="10")
    with running(limited, tmp_path) as (collected, query):
        waited(query, (tmp_path / "offsets" / "0").exists, bool)
        produce(reference, topic, numbers(5, 40))
        waited(query, lambda: len(collected.values), lambda count: count == 35)
        assert collected.values == numbers(5, 40)

        def lags() -> list[int]:
            sources = [progress["sources"][0] for progress in query.recentProgress]
            ends = [(json.loads(source["latestOffset"]), json.loads(source["endOffset"])) for source in sources]
            return [sum(latest[topic][number] - end[topic][number] for number in ("0", "1")) for latest, end in ends]

        waited(query, lags, lambda found: found[-1] == 0)
        assert max(lags()) > 0


def test_new_partitions_and_new_topics_are_read_from_their_beginning(
    read_stream: ReadStream,
    reference: ConfluentKafka,
    new_topic: NewTopic,
    fresh_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    topic = new_topic()
    later = f"{topic}-later"
    produce(reference, topic, numbers(0, 1))
    stream = read_stream("ottla", subscribePattern=f"{topic}.*", startingOffsets="earliest", maxOffsetsPerTrigger="50")
    with running(stream, tmp_path) as (collected, query):
        waited(query, lambda: len(collected.values), lambda count: count == 1)
        reference.add_partitions(topic, 2)
        reference.create_topic(later, 1, {})
        eventually(reference.topics, lambda topics: (topics.get(topic), topics.get(later)) == (2, 1))
        produce(reference, topic, numbers(1, 3), partition=1)
        produce(reference, later, numbers(3, 6))
        waited(query, lambda: len(collected.values), lambda count: count >= 6)
    assert collected.values == numbers(0, 6)


def test_records_that_were_deleted_end_a_stream_unless_it_may_lose_them(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic()
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    produce(reference, topic, numbers(0, 10))
    read_now(read_stream("ottla", **options), tmp_path)
    produce(reference, topic, numbers(10, 30))
    reference.delete_records(topic, 0, 25)
    with pytest.raises(Exception, match=f"offsets 10 to 24 of {topic}-0 are gone, it begins at 25"):
        read_now(read_stream("ottla", **options), tmp_path)
    collected, _ = read_now(read_stream("ottla", failOnDataLoss="false", **options), tmp_path)
    assert collected.values == numbers(25, 30)


def test_a_topic_that_was_deleted_or_made_again_ends_a_stream_unless_it_may_lose_it(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    kept, topic = new_topic(), new_topic()
    options = {"subscribe": f"{kept},{topic}", "startingOffsets": "earliest"}
    produce(reference, topic, numbers(0, 10))
    read_now(read_stream("ottla", **options), tmp_path)

    reference.delete_topic(topic)
    eventually(reference.topics, lambda topics: topic not in topics)
    with pytest.raises(Exception, match=f"data was lost: partitions are gone.*{topic}-0 .read up to offset 10"):
        read_now(read_stream("ottla", **options), tmp_path)
    # The batch that could not be was not planned, so nothing has to be undone.
    assert not (tmp_path / "offsets" / "1").exists()
    produce(reference, kept, numbers(10, 12))
    collected, _ = read_now(read_stream("ottla", failOnDataLoss="false", **options), tmp_path)
    assert collected.values == numbers(10, 12)
    assert stored_offsets(tmp_path, 1) == {kept: {"0": 2}, topic: {"0": 10}}

    reference.create_topic(topic, 1, {})
    eventually(reference.topics, lambda topics: topic in topics)
    produce(reference, topic, numbers(20, 23))
    with pytest.raises(Exception, match=f"data was lost: {topic}-0 was read up to offset 10 and ends at 3 now"):
        read_now(read_stream("ottla", **options), tmp_path)
    assert not (tmp_path / "offsets" / "2").exists()
    collected, _ = read_now(read_stream("ottla", failOnDataLoss="false", **options), tmp_path)
    assert collected.values == numbers(20, 23)


def test_a_stream_goes_on_when_its_broker_was_restarted(
    spark: "SparkSession", start_server: Callable[..., Server], fresh_name: Callable[[], str], tmp_path: Path
) -> None:
    server = start_server()
    reference, topic = ConfluentKafka(server.bootstrap), fresh_name()
    reference.create_topic(topic, 1, {})
    eventually(reference.topics, lambda topics: topic in topics)
    reader = spark.readStream.format("ottla").option("kafka.bootstrap.servers", server.bootstrap)
    stream = reader.options(subscribe=topic, startingOffsets="earliest").load()
    with running(stream, tmp_path) as (collected, query):
        produce(reference, topic, numbers(0, 5))
        waited(query, lambda: len(collected.values), lambda count: count == 5)
        server.kill()
        server.start()
        produce(reference, topic, numbers(5, 9))
        waited(query, lambda: len(collected.values), lambda count: count == 9)
    assert collected.values == numbers(0, 9)


def test_a_stream_publishes_its_progress_to_a_group_and_another_one_starts_from_it(
    read_stream: ReadStream,
    server: Server,
    reference: ConfluentKafka,
    new_topic: NewTopic,
    fresh_name: Callable[[], str],
    tmp_path: Path,
) -> None:
    topic, group = new_topic(2), fresh_name()
    produce(reference, topic, numbers(0, 10))
    stream = read_stream("ottla", subscribe=topic, startingOffsets="earliest", commitGroup=group)
    with running(stream, tmp_path / "first") as (collected, query):
        waited(query, lambda: len(collected.values), lambda count: count == 10)
        waited(query, lambda: committed_offsets(server.bootstrap, group, topic, 2), lambda found: found == [10, 0])
    produce(reference, topic, numbers(10, 13))
    options = {"subscribe": topic, "startingOffsets": "committed", "kafka.group.id": group}
    collected, _ = read_now(read_stream("ottla", commitGroup=group, **options), tmp_path / "second")
    assert collected.values == numbers(10, 13)
    assert committed_offsets(server.bootstrap, group, topic, 2) == [13, 0]


def test_a_batch_waits_for_enough_offsets_or_for_long_enough(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic()
    produce(reference, topic, numbers(0, 1))
    options = {"subscribe": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": "10"}
    with running(read_stream("ottla", **options), tmp_path / "enough") as (collected, query):
        waited(query, lambda: len(collected.values), lambda count: count == 1)
        produce(reference, topic, numbers(1, 5))
        waited(query, lambda: query.lastProgress, bool)
        waited(query, lambda: progress_offset(query, "latestOffset"), lambda at: at == {topic: {"0": 5}})
        assert len(collected.values) == 1
        produce(reference, topic, numbers(5, 11))
        waited(query, lambda: len(collected.values), lambda count: count == 11)
        assert collected.batches == [numbers(0, 1), numbers(1, 11)]
        # Otherwise the batch would be run again.
        waited(query, (tmp_path / "enough" / "commits" / "1").exists, bool)
    produce(reference, topic, numbers(11, 12))
    # Nothing more will come, so nothing is waited for.
    collected, _ = read_now(read_stream("ottla", **options), tmp_path / "enough")
    assert collected.values == numbers(11, 12)
    delayed = read_stream("ottla", **options, maxTriggerDelay="1s")
    with running(delayed, tmp_path / "long") as (collected, query):
        waited(query, lambda: len(collected.values), lambda count: count == 12)
        produce(reference, topic, numbers(12, 13))
        waited(query, lambda: len(collected.values), lambda count: count == 13)


def test_a_batch_is_limited_in_bytes_about_as_asked(
    read_stream: ReadStream, reference: ConfluentKafka, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic()
    # Batches of its own for each: the sample is of the beginning.
    for n in range(10):
        produce(reference, topic, [b"%03d" % n * 5000 for _ in range(10)])
    stream = read_stream("ottla", subscribe=topic, startingOffsets="earliest", maxBytesPerTrigger="400000")
    collected, _ = read_now(stream, tmp_path)
    sizes = [sum(map(len, batch)) for batch in collected.batches]
    assert sum(sizes) == 1_500_000
    assert len(sizes) == 4
    assert max(sizes) <= 400_000


def test_a_stream_reads_committed_records_up_to_the_last_stable_offset(
    read_stream: ReadStream,
    reference: ConfluentKafka,
    new_topic: NewTopic,
    open_producer: NewProducer,
    tmp_path: Path,
) -> None:
    topic = new_topic()
    producer = open_producer(reference)
    for ends, value in ((producer.commit, b"000"), (producer.abort, b"001"), (producer.commit, b"002")):
        producer.begin()
        producer.send(topic, 0, value)
        ends()
    producer.begin()
    producer.send(topic, 0, b"003")
    options = {"subscribe": topic, "startingOffsets": "earliest", "kafka.isolation.level": COMMITTED}
    stream = read_stream("ottla", **options, maxOffsetsPerTrigger="2")
    collected, _ = read_now(stream, tmp_path)
    assert collected.values == [b"000", b"002"]
    producer.commit()
    collected, _ = read_now(stream, tmp_path)
    assert collected.values == [b"003"]


def test_an_end_is_refused_for_a_stream(read_stream: ReadStream, new_topic: NewTopic, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="endingOffsets is not for streams"):
        read_now(read_stream("ottla", subscribe=new_topic(), endingOffsets="latest"), tmp_path)
