"""Queries that are followed, and that fail."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from ottla.pipeline import explain_failure, show_progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]


@pytest.fixture
def rows(
    read_stream: "Callable[..., DataFrame]", reference: ConfluentKafka, new_topic: Callable[..., str]
) -> "DataFrame":
    """A stream of 30 records, 10 in each batch."""
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % number) for number in range(30)])
    return read_stream("ottla", subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="10")


def test_a_query_is_drawn_in_place_and_told_line_by_line(rows: "DataFrame", tmp_path: Path) -> None:
    drawn, told = io.StringIO(), io.StringIO()
    writer = rows.writeStream.format("noop").queryName("followed").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    # Of a session, and of one query.
    drawing = show_progress(rows.sparkSession, drawn, in_place=True, interval_s=0.05)
    with drawing, show_progress(query, told, interval_s=3600):
        query.processAllAvailable()
    query.stop()
    assert drawn.getvalue().startswith("\rfollowed  batch ")
    assert drawn.getvalue().endswith("\x1b[J\n")
    # Lines are told now and then, and in the end.
    [line] = told.getvalue().splitlines()
    assert line.startswith("followed  batch 2  read 10  wrote 10  in ")
    assert "  lag 0  took " in line


def test_a_query_that_dies_says_why(rows: "DataFrame", tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as F

    @F.udf("string")
    def refuse(_value):  # type: ignore[no-untyped-def]
        raise ValueError("nobody likes records")

    told = io.StringIO()
    writer = rows.select(refuse("value")).writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.queryName("refused").start()
    with show_progress(query, told, interval_s=0.01), pytest.raises(StreamingQueryException) as failure:
        query.awaitTermination(120)
    assert explain_failure(failure.value) == "ValueError: nobody likes records"
    assert told.getvalue() == "refused  failed: ValueError: nobody likes records\n"
