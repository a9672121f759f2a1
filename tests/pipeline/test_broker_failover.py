"""Streaming queries while brokers of a cluster are killed: none of them dies, and what they write is exact."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.copying import Copying
from harness.pipeline_ledger import differences, expected_rows
from harness.three_brokers import ThreeBrokers, three_brokers
from harness.transactions import read_by_confluent
from harness.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first query of a session loads half of Spark.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(480), pytest.mark.filterwarnings("default")]

PARTITIONS = 3
ROWS_PER_BATCH = "90"
BEGIN_TIMEOUT_S = 120.0
INPUT, EXACT, STOCK = "input", "exact", "stock"


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path / "brokers") as started:
        started.create_topics(INPUT, EXACT, STOCK, partitions=PARTITIONS)
        yield started


def start_stock(spark: "SparkSession", bootstrap: str, checkpoint: Path) -> Any:
    """Spark's own Kafka connector at both ends."""
    address = {"kafka.bootstrap.servers": bootstrap}
    read = {"subscribe": INPUT, "startingOffsets": "earliest", "maxOffsetsPerTrigger": ROWS_PER_BATCH}
    frame = spark.readStream.format("kafka").options(**address, **read).load()
    marked = frame.selectExpr("key", "concat(value, cast('!' AS binary)) AS value")
    written = marked.writeStream.format("kafka").options(**address, topic=STOCK, checkpointLocation=str(checkpoint))
    return written.start()


def has_begun(query: Any) -> bool:
    assert query.isActive, query.exception()
    return any(one["numInputRows"] for one in query.recentProgress)


def test_queries_go_on_exactly_when_the_leader_and_the_coordinator_are_killed(
    spark: "SparkSession", brokers: ThreeBrokers, tmp_path: Path
) -> None:
    copying = Copying(spark, brokers.bootstrap, "failover", INPUT, EXACT, PARTITIONS, tmp_path / "exact")
    copying.feed(300)
    exact = copying.start(copying.stream(maxOffsetsPerTrigger=ROWS_PER_BATCH))
    stock = start_stock(spark, brokers.bootstrap, tmp_path / "stock")

    def feed_to_the_end() -> None:
        """More input, and all of it goes through both queries."""
        copying.feed(100)
        exact.processAllAvailable()
        stock.processAllAvailable()

    try:
        eventually(lambda: has_begun(exact) and has_begun(stock), timeout_s=BEGIN_TIMEOUT_S)
        with brokers.without(brokers.leader(INPUT)):
            feed_to_the_end()
        copying.feed(300)
        with brokers.without(eventually(lambda: brokers.coordinators_of("ottla-sink-failover"))[0]):
            feed_to_the_end()
    finally:
        exact.stop()
        stock.stop()
    copying.check()
    written_by_stock = read_by_confluent(brokers.bootstrap, STOCK, PARTITIONS)
    assert differences(expected_rows(PARTITIONS, copying.count), written_by_stock) == []
