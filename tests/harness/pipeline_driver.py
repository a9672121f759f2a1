"""A pipeline as a user's program would be: topic -> transformation -> topic, in many small batches, until it is told.

    python pipeline_driver.py NAME VALUE ...

It says "batch ID ROWS" of each batch that is through, and "failed ..." when the query dies: then it starts the query
again, with the same checkpoint, unless another driver has taken over. It ends when a line comes in, or when nobody is
left to send one.
"""

import os
import sys
import threading
import time
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ottla.pipeline import PipelineError

POLL_INTERVAL_S = 0.05
PAUSE_S = 0.2


def new_session(master: str, scratch: str) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.local.dir": f"{scratch}/local",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager",
        # As the sink demands. Tasks are tried again, as Spark does by default: the sink has to refuse that.
        "spark.stage.maxConsecutiveAttempts": "1",
        "spark.stage.ignoreDecommissionFetchFailure": "false",
    }
    if jars := os.environ.get("OTTLA_TEST_JARS"):
        settings["spark.jars"] = jars
    builder = SparkSession.builder.master(master).appName("pipeline")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def transformed(session: SparkSession, options: dict[str, str]) -> DataFrame:
    stream = (
        session.readStream.format(options["source"])
        .option("kafka.bootstrap.servers", options["bootstrap"])
        .option("subscribe", options["input"])
        .option("startingOffsets", options["starting"])
        .option("maxOffsetsPerTrigger", options["rows"])
    )
    if options["starting"] == "committed":
        stream = stream.option("kafka.group.id", options["name"])
    marked = F.concat(F.col("value"), F.lit("!").cast("binary"))
    return stream.load().select("key", marked.alias("value"))


def start(session: SparkSession, options: dict[str, str]) -> Any:
    frame = transformed(session, options)
    brokers = {"kafka.bootstrap.servers": options["bootstrap"]}
    if options["sink"] != "exactly-once":
        writer = frame.writeStream.format(options["sink"]).options(**brokers, topic=options["output"])
        return writer.option("checkpointLocation", options["checkpoint"]).start()
    from ottla.pipeline import write_topic

    return write_topic(
        frame, name=options["name"], topic=options["output"], checkpoint=options["checkpoint"], options=brokers
    )


def follow(query: Any, stopping: threading.Event) -> None:
    """Says what the query does, until it ends or shall end."""
    said = -1
    while query.isActive and not stopping.is_set():
        for progress in query.recentProgress:
            if progress["batchId"] > said and progress["numInputRows"]:
                said = progress["batchId"]
                say(f"batch {said} {progress['numInputRows']}")
        time.sleep(POLL_INTERVAL_S)
    if stopping.is_set():
        query.stop()
    query.awaitTermination()


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    stopping = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        stopping.set()

    threading.Thread(target=listen, daemon=True).start()
    session = new_session(options["master"], options["scratch"])
    say("started")
    while not stopping.is_set():
        try:
            follow(start(session, options), stopping)
        except (PySparkException, PipelineError) as error:
            say(f"failed {' '.join(str(error).split())}")
            if "taken over" in str(error):
                break
            time.sleep(PAUSE_S)
    session.stop()


if __name__ == "__main__":
    main()
