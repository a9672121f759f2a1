"""What the plans and arguments of queries tell; nothing is run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.servers import Server
from ottla.pipeline import write_topic
from ottla.pipeline.errors import OptionError
from ottla.pipeline.sink.plan_shape import does_little, reads_from_group

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]

ReadStream = Callable[..., "DataFrame"]


def test_rows_that_are_chosen_and_reshaped_by_spark_itself_are_little_work(read_stream: ReadStream) -> None:
    from pyspark.sql import functions as F

    rows = read_stream("ottla", subscribe="t")
    assert does_little(rows)
    assert does_little(rows.where("value IS NOT NULL").selectExpr("upper(value) AS value").alias("other"))
    assert not does_little(rows.groupBy("key").count())
    assert not does_little(rows.union(rows))
    shouted = F.udf(lambda text: text.upper(), "string")
    assert not does_little(rows.select(shouted(F.col("value").cast("string")).alias("value")))
    assert not does_little(rows.where(shouted(F.col("value").cast("string")) == "A"))


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition"])
def test_whoever_asks_for_tasks_gets_them(read_stream: ReadStream, option: str) -> None:
    assert not does_little(read_stream("ottla", subscribe="t", **{option: "5"}))


def test_only_streams_of_topics_begin_at_a_group(
    spark: "SparkSession", read_stream: ReadStream, tmp_path: Path
) -> None:
    committed = {"subscribe": "t", "startingOffsets": "committed", "kafka.group.id": "g"}
    rows = read_stream("ottla", **committed).selectExpr("cast(value AS string) AS value")
    table = spark.createDataFrame([("a", 1)], "value string, number int")
    files = spark.readStream.format("text").load(str(tmp_path))
    assert reads_from_group(rows, "g")
    assert reads_from_group(rows.join(table, "value"), "g")
    assert not reads_from_group(rows, "h")
    assert not reads_from_group(files, "g")
    assert not reads_from_group(rows.union(files), "g")
    assert does_little(files)


@pytest.mark.parametrize("group_id", ["copy", "ottla-sink-copy"])
def test_a_source_may_not_commit_to_the_groups_of_the_sink(
    read_stream: ReadStream, tmp_path: Path, group_id: str
) -> None:
    rows = read_stream("ottla", subscribe="t", commitGroup=group_id).select("value")
    with pytest.raises(OptionError, match=f"commitGroup={group_id}: that group is the sink's own"):
        write_topic(rows, name="copy", topic="t", checkpoint=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"trigger": "1 second"}, "trigger='1 second' is not one of"),
        ({"trigger": {"procesingTime": "1 second"}}, "'procesingTime': '1 second'} is not one of"),
        ({"trigger": {"continuous": "1 second"}}, "that make batches"),
        ({"options": {"kafka.bootstrap.servers": None}}, "kafka.bootstrap.servers=None: an option is a string"),
        ({"checkpoint": Path(" ")}, "a sink needs a directory"),
    ],
)
def test_arguments_that_cannot_be_are_named(
    read_stream: ReadStream, server: Server, tmp_path: Path, arguments: dict[str, Any], why: str
) -> None:
    rows = read_stream("ottla", subscribe="t").select("value")
    given = {"checkpoint": tmp_path, "options": {"kafka.bootstrap.servers": server.bootstrap}, **arguments}
    with pytest.raises(OptionError, match=re.escape(why)):
        write_topic(rows, name="wrong", topic="t", **given)


def test_a_timeout_that_brokers_refuse_is_named_as_it_was_given(
    read_stream: ReadStream, server: Server, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    options = {"kafka.bootstrap.servers": server.bootstrap, "kafka.transaction.timeout.ms": "99999999"}
    rows = read_stream("ottla", subscribe="t").select("value")
    with pytest.raises(OptionError, match=r"kafka\.transaction\.timeout\.ms=99999999 is more than the brokers allow"):
        write_topic(rows, name="late", topic=new_topic(), checkpoint=tmp_path, options=options)
