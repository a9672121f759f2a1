"""`ottla pipeline copy`: one topic into another exactly once, through SQL, without a program.

How far a copy has come is written into the target's transactions, in the group of the copy's name. So the checkpoint
may be a temporary one, and a copy goes on wherever and however often it is started.
"""

import argparse
import json
import logging
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import ClusterAccess, cluster_access, with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.pipeline.spark_work import pipeline_errors, say, spark_settings, start_spark, watch_queries
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.pipeline.copying import Transformation
    from ottla.pipeline.spark_session import SparkSession

_DRY_ROWS: Final = 5
_BEGINNING: Final = "earliest"


def copy(options: argparse.Namespace) -> int:
    """Copy a topic, or show what would be copied."""
    from ottla.pipeline.copying import Transformation
    from ottla.pipeline.java import require_java
    from ottla.pipeline.spark_session import require_pyspark

    _check(options)
    access = cluster_access(options)
    name = options.name or f"{options.source}-to-{options.target}"
    select = ", ".join(options.select) if options.select else None
    asked = Transformation(options.where, select, options.json, options.schema)
    with pipeline_errors():
        require_pyspark()
        require_java()
        partitions, has_begun = with_client(access, lambda client: _look(client, options.source, name))
        spark = start_spark(options, name)
        if options.dry_run:
            return _dry_run(spark, options, access, asked)
        with ExitStack() as ending:
            home = options.checkpoint or ending.enter_context(tempfile.TemporaryDirectory(prefix="ottla-copy-"))
            return watch_queries(
                spark, options, lambda: _start(spark, options, access, asked, _Way(name, home, partitions, has_begun))
            )


@dataclass(frozen=True, slots=True)
class _Way:
    """Under which name a copy goes on, where Spark notes it, the number of its partitions, whether it began before."""

    name: str
    checkpoint: str
    partitions: int
    has_begun: bool


def _check(options: argparse.Namespace) -> None:
    """What needs no Spark to be wrong."""
    if options.source == options.target:
        raise UsageError(f"--from and --to are both {options.source}: it would copy its own copies for ever.")
    spark_settings(options)
    if options.offsets not in (_BEGINNING, "latest"):
        try:
            json.loads(options.offsets)
        except ValueError:
            example = f'{{"{options.source}": {{"0": 23}}}}'
            raise UsageError(f"--offsets {options.offsets}: write earliest, latest, or JSON as in {example}.") from None


async def _look(client: "Client", source: str, name: str) -> tuple[int, bool]:
    """How many partitions the source has, and whether this copy has begun before."""
    from ottla.config.spelling import closest

    listed = {topic.name for topic in await client.admin.list_topics(include_internal=True)}
    if source not in listed:
        meant = closest(source, listed)
        remedy = f"Did you mean {meant}?" if meant else "`ottla topics list` shows those that there are."
        raise CommandError(f"there is no topic {source}", ExitCode.NOT_FOUND, remedy)
    described = (await client.admin.describe_topics([source]))[source]
    if described.error is not None:
        raise command_error(described.error)
    committed = await client.admin.list_group_offsets(name, require_stable=True)
    return len(described.partitions), any(partition.topic == source for partition in committed)


def _source_options(access: ClusterAccess, options: argparse.Namespace) -> dict[str, str]:
    return {
        # What is in no committed transaction was never written, as far as a copy is concerned.
        "kafka.isolation.level": "read_committed",
        **_cluster_options(access),
        "subscribe": options.source,
        "includeHeaders": "true",
    }


def _cluster_options(access: ClusterAccess) -> dict[str, str]:
    properties = {f"kafka.{name}": value for name, value in access.properties.items()}
    return {**properties, "kafka.bootstrap.servers": access.bootstrap}


def _dry_run(spark: "SparkSession", options: argparse.Namespace, access: ClusterAccess, asked: "Transformation") -> int:
    from ottla.pipeline.copying import first_records

    start = _BEGINNING if options.offsets == "latest" else options.offsets
    try:
        rows = spark.read.format("ottla").options(**_source_options(access, options), startingOffsets=start).load()
        print_rows(output_format(options), ("key", "value"), first_records(rows, asked, _DRY_ROWS))
    finally:
        spark.stop()
    say(f"These are the first {_DRY_ROWS} at most; nothing was written to {options.target}.")
    return ExitCode.DONE


def _start(
    spark: "SparkSession", options: argparse.Namespace, access: ClusterAccess, asked: "Transformation", way: _Way
) -> None:
    from ottla.pipeline.copying import transform
    from ottla.pipeline.sink.query import write_topic

    # What has been committed, else the beginning.
    goes_on = way.has_begun or options.offsets == _BEGINNING
    start = {"startingOffsets": "committed" if goes_on else options.offsets, "kafka.group.id": way.name}
    rows = spark.readStream.format("ottla").options(**_source_options(access, options), **start).load()
    records = transform(rows, asked)
    if with_client(access, lambda client: _ensure_target(client, options.target, way.partitions)):
        count = "1 partition" if way.partitions == 1 else f"{way.partitions} partitions"
        say(f"created topic {options.target} with {count}, as {options.source} has.")
    doing = "goes on where it ended" if way.has_begun else f"begins at {options.offsets}"
    end = "until it has copied what is there" if options.once else "until Ctrl-C"
    say(f"copy {way.name} {doing}, {end}.")
    # It says where a sink goes on with a new checkpoint: ours is new each time, and reads from there.
    logging.getLogger("ottla.pipeline.sink.query").setLevel(logging.ERROR)
    write_topic(
        records,
        name=way.name,
        topic=options.target,
        checkpoint=way.checkpoint if "://" in way.checkpoint else Path(way.checkpoint).resolve().as_uri(),
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
