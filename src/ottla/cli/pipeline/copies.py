"""`ottla pipeline copy`: one topic into another exactly once, through SQL, without a program.

How far a copy has come is written into the target's transactions, as offsets of the group of the copy's name. So the
checkpoint may be a temporary one, and a copy goes on wherever it is started, as long as brokers keep these offsets;
`copy_start.py` has what happens after that.
"""

import argparse
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import ClusterAccess, cluster_access, with_client
from ottla.cli.exits import ExitCode, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.pipeline.copy_start import BEGINNING, CopyStart, find_start
from ottla.cli.pipeline.spark_work import pipeline_errors, say, spark_settings, start_spark, watch_queries
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.pipeline.copying import Transformation
    from ottla.pipeline.spark_session import SparkSession

_DRY_ROWS: Final = 5


def copy(options: argparse.Namespace) -> int:
    """Copy a topic, or show what would be copied."""
    from ottla.pipeline.java import require_java
    from ottla.pipeline.spark_session import require_pyspark

    _check(options)
    with pipeline_errors():
        require_pyspark()
        require_java()
        start = look_for_start(options)
        spark = start_spark(options, start.name)
        if options.dry_run:
            return _dry_run(spark, options)
        with ExitStack() as ending:
            home = options.checkpoint or ending.enter_context(tempfile.TemporaryDirectory(prefix="ottla-copy-"))
            return watch_queries(spark, options, lambda: start_copy(spark, options, start, home))


def look_for_start(options: argparse.Namespace) -> CopyStart:
    """Ask the cluster where the copy starts."""
    name = options.name or f"{options.source}-to-{options.target}"
    # A dry run writes nothing twice.
    offsets = options.offsets or (BEGINNING if options.dry_run else None)
    return with_client(
        cluster_access(options), lambda client: find_start(client, options.source, options.target, name, offsets)
    )


def _check(options: argparse.Namespace) -> None:
    """What needs no Spark to be wrong."""
    if options.source == options.target:
        raise UsageError(f"--from and --to are both {options.source}: it would copy its own copies for ever.")
    spark_settings(options)
    if options.offsets not in (None, BEGINNING, "latest"):
        try:
            json.loads(options.offsets)
        except ValueError:
            example = f'{{"{options.source}": {{"0": 23}}}}'
            raise UsageError(f"--offsets {options.offsets}: write earliest, latest, or JSON as in {example}.") from None


def _transformation(options: argparse.Namespace) -> "Transformation":
    from ottla.pipeline.copying import Transformation

    select = ", ".join(options.select) if options.select else None
    return Transformation(options.where, select, options.json, options.schema)


def _source_options(access: ClusterAccess, options: argparse.Namespace) -> dict[str, str]:
    return {
        # What is in no committed transaction was never written, as far as a copy is concerned.
        "kafka.isolation.level": "read_committed",
        **_cluster_options(access),
        "subscribe": options.source,
        "failOnDataLoss": str(not options.allow_data_loss).lower(),
        "includeHeaders": "true",
    }


def _cluster_options(access: ClusterAccess) -> dict[str, str]:
    properties = {f"kafka.{name}": value for name, value in access.properties.items()}
    return {**properties, "kafka.bootstrap.servers": access.bootstrap}


def _dry_run(spark: "SparkSession", options: argparse.Namespace) -> int:
    from ottla.pipeline.copying import first_records

    access = cluster_access(options)
    start = options.offsets if options.offsets not in (None, "latest") else BEGINNING
    try:
        rows = spark.read.format("ottla").options(**_source_options(access, options), startingOffsets=start).load()
        print_rows(output_format(options), ("key", "value"), first_records(rows, _transformation(options), _DRY_ROWS))
    finally:
        spark.stop()
    say(f"These are the first {_DRY_ROWS} at most; nothing was written to {options.target}.")
    return ExitCode.DONE


def start_copy(spark: "SparkSession", options: argparse.Namespace, start: CopyStart, checkpoint: str) -> None:
    """Start the query that copies; the target is made if it is not there."""
    from ottla.pipeline.copying import transform
    from ottla.pipeline.sink.query import write_topic

    access = cluster_access(options)
    # What has been committed, else the beginning.
    goes_on = start.has_begun or start.offsets == BEGINNING
    place = {"startingOffsets": "committed" if goes_on else start.offsets, "kafka.group.id": start.name}
    rows = spark.readStream.format("ottla").options(**_source_options(access, options), **place).load()
    records = transform(rows, _transformation(options))
    if with_client(access, lambda client: _ensure_target(client, options.target, start.partitions)):
        count = "1 partition" if start.partitions == 1 else f"{start.partitions} partitions"
        say(f"created topic {options.target} with {count}, as {options.source} has.")
    doing = "goes on where it ended" if start.has_begun else f"begins at {start.offsets}"
    end = "until it has copied what is there" if options.once else "until Ctrl-C"
    say(f"copy {start.name} {doing}, {end}.")
    write_topic(
        records,
        name=start.name,
        topic=options.target,
        checkpoint=checkpoint if "://" in checkpoint else Path(checkpoint).resolve().as_uri(),
        options=_cluster_options(access),
        trigger={"availableNow": True} if options.once else None,
    )


async def _ensure_target(client: "Client", target: str, partitions: int) -> bool:
    """Whether the topic had to be made."""
    from ottla.client import NewTopic
    from ottla.protocol.errors import ErrorCode

    created = (await client.admin.create_topics([NewTopic(target, partitions)]))[target]
    if created.error is None:
        return True
    if created.error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
        raise command_error(created.error)
    return False
