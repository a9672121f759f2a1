"""`df.writeStream.format("ottla")`: micro-batches appended to topics, from one start to the next."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Callable[..., None]:
    """Writes what there is of a stream, and goes on from the checkpoint when it is called again."""

    def append(df: "DataFrame", mode: str = "append", **options: str) -> None:
        given: dict[str, Any] = {
            "kafka.bootstrap.servers": server.bootstrap,
            "checkpointLocation": str(tmp_path / "checkpoint"),
        }
        writer = df.writeStream.format("ottla").outputMode(mode).options(**given | options)
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(180)
        finally:
            query.stop()

    return append


def test_a_stream_goes_on_from_its_checkpoint(
    run: Callable[..., None],
    read_stream: "Callable[..., DataFrame]",
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
) -> None:
    origin, copy = new_topic(2), new_topic()
    df = read_stream("ottla", subscribe=origin, startingOffsets="earliest", maxOffsetsPerTrigger="150")
    changed = df.selectExpr("key", "upper(CAST(value AS string)) AS value")
    for partition in range(2):
        reference.produce(origin, [Record(b"early %d" % n) for n in range(100)], partition=partition)
    run(changed, topic=copy)
    reference.produce(origin, [Record(b"late %d" % n) for n in range(20)])
    run(changed, topic=copy)
    copied = [one.record.value for one in reference.read(copy, 0, 0, 220)]
    assert reference.end_offset(copy, 0) == 220
    assert sorted(copied[:200]) == sorted(b"EARLY %d" % n for n in range(100) for _ in range(2))
    assert copied[200:] == [b"LATE %d" % n for n in range(20)]


def test_only_rows_that_stay_as_they_are_can_be_appended(
    run: Callable[..., None],
    read_stream: "Callable[..., DataFrame]",
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
) -> None:
    origin, counts = new_topic(), new_topic()
    reference.produce(origin, [Record(b"1")])
    df = read_stream("ottla", subscribe=origin, startingOffsets="earliest")
    counted = df.groupBy("value").count().selectExpr("value AS key", "CAST(count AS string) AS value")
    with pytest.raises(Exception, match=r"ottla\.pipeline\.write_topic"):
        run(counted, mode="complete", topic=counts)
    with pytest.raises(Exception, match="does not support Update mode"):
        run(counted, mode="update", topic=counts)
    with pytest.raises(Exception, match=r"kafka\.transactional\.id=x: .*ottla\.pipeline\.write_topic"):
        run(df.select("value"), topic=counts, **{"kafka.transactional.id": "x"})
    assert reference.end_offset(counts, 0) == 0
