"""What the verbs of `ottla pipeline` share: a session by their options, queries that are watched, errors in a line."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, UsageError

if TYPE_CHECKING:
    from ottla.pipeline.spark_session import SparkSession

_USUAL_START: Final = "starting Spark, which takes some seconds ..."


def say(text: str) -> None:
    """Something about the work, beside what it prints."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def pipeline_errors() -> Iterator[None]:
    """What the pipeline cannot do, as an error of the command."""
    from ottla.pipeline.errors import OptionError, PipelineError
    from ottla.pipeline.failures import spark_errors

    try:
        with spark_errors():
            yield
    except OptionError as error:
        raise UsageError(str(error)) from error
    except PipelineError as error:
        raise CommandError(str(error)) from error


def spark_settings(options: argparse.Namespace) -> dict[str, str]:
    """The settings of --conf."""
    settings = {}
    for given in options.conf:
        name, separator, value = given.partition("=")
        if not separator:
            raise UsageError(f"--conf {given}: write KEY=VALUE, as in --conf spark.driver.memory=2g.")
        settings[name.strip()] = value.strip()
    return settings


def start_spark(options: argparse.Namespace, app_name: str) -> "SparkSession":
    """The session that the options ask for."""
    from ottla.pipeline.spark_session import session

    settings = spark_settings(options)
    say(_USUAL_START)
    return session(app_name, options.master, settings)


def watch_queries(spark: "SparkSession", options: argparse.Namespace, start: Callable[[], None]) -> int:
    """Start queries, show them, and wait until they have ended; Ctrl-C is how endless ones are meant to end."""
    from ottla.pipeline.job import interruptible, stopping_queries, wait_for_queries
    from ottla.pipeline.progress import show_progress

    with ExitStack() as ending:
        ending.enter_context(interruptible())
        ending.enter_context(stopping_queries(spark))
        if options.progress != "none":
            # A query that dies ends the command, which says why.
            in_place = False if options.progress == "line" else None
            ending.enter_context(show_progress(spark, in_place=in_place, tells_failures=False))
        try:
            start()
            wait_for_queries(spark)
        except KeyboardInterrupt:
            # Whatever the program was about to do, its queries are stopped in order.
            say("\nstopping ..." if sys.stderr.isatty() else "stopping ...")
    return ExitCode.DONE
