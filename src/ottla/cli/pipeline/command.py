"""`ottla pipeline`: Spark jobs on topics, and a first exactly-once pipeline without a program."""

import argparse
from typing import Final

from ottla.cli.verbs import Verbs

_RUN_EPILOG: Final = """\
`from ottla.pipeline import session` gives the program the session that is ready, and so does Spark's own getOrCreate().
OTTLA_BOOTSTRAP_SERVERS in its environment names the cluster. Ctrl-C stops its queries; one that dies ends all.
example: ottla pipeline run job.py --since yesterday
"""
_COPY_EPILOG: Final = """\
Expressions are Spark's SQL over key and value (strings), topic, partition, offset, timestamp and headers. Columns named
key, value, headers, timestamp and partition are the new record's; any others become its value, as one JSON object.
examples: ottla pipeline copy --from orders --to dear-orders --schema 'price double' --where 'value.price > 10'
          ottla pipeline copy --from orders --to shouted --select 'upper(value) as value' --once
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of pipeline."""
    verbs = Verbs(parser)
    run = verbs.add("run", run_job, "run a Python program with a Spark session, and its queries", epilog=_RUN_EPILOG)
    run.formatter_class = argparse.RawDescriptionHelpFormatter
    _add_spark(run)
    run.add_argument("script", metavar="JOB.PY")
    arguments = run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    # Python 3.11 would say that they are missing where the program is.
    arguments.required = False

    copy = verbs.add("copy", copy_topic, "copy a topic into another, exactly once", epilog=_COPY_EPILOG)
    copy.formatter_class = argparse.RawDescriptionHelpFormatter
    copy.add_argument("--from", dest="source", required=True, metavar="TOPIC")
    copy.add_argument("--to", dest="target", required=True, metavar="TOPIC", help="made if there is none")
    copy.add_argument("--where", metavar="SQL", help="the records to copy; default all")
    copy.add_argument(
        "--select", action="append", metavar="SQL,...", help="what they become; default as they are; repeatable"
    )
    value = copy.add_mutually_exclusive_group()
    value.add_argument(
        "--json", action="store_true", help="value is JSON of any shape: value:price::double; what is none is null"
    )
    value.add_argument("--schema", metavar="DDL", help="value is JSON with these fields: value.price")
    copy.add_argument(
        "--offsets",
        metavar="WHERE",
        help="where the first run starts: earliest (default where TO is empty), latest, or JSON by topic and partition",
    )
    copy.add_argument(
        "--allow-data-loss",
        action="store_true",
        help="go on where records were deleted before they were copied (failOnDataLoss=false)",
    )
    copy.add_argument("--name", help="under which it goes on after a restart; default FROM-to-TO")
    copy.add_argument("--checkpoint", metavar="DIR", help="where Spark notes its way; default a temporary one")
    copy.add_argument("--once", action="store_true", help="copy what is there, then end")
    copy.add_argument("--dry-run", action="store_true", help="show what 5 records would become, and write nothing")
    _add_spark(copy)


def _add_spark(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("spark")
    group.add_argument("--master", help="default: OTTLA_SPARK_MASTER, SPARK_MASTER, spark-defaults.conf, local[*]")
    group.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="setting of Spark; repeatable")
    group.add_argument(
        "--progress",
        choices=["auto", "line", "none"],
        default="auto",
        help="on stderr: in place on a terminal, a line now and then elsewhere (auto), always lines, or none",
    )


def run_job(options: argparse.Namespace) -> int:
    """Run a program."""
    from ottla.cli.pipeline.jobs import run

    return run(options)


def copy_topic(options: argparse.Namespace) -> int:
    """Copy a topic."""
    from ottla.cli.pipeline.copies import copy

    return copy(options)
