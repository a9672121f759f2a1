"""`ottla pipeline run`: a program of the user's, with a session ready, and its queries watched until they end."""

import argparse
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import BOOTSTRAP_VARIABLE, cluster_access
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.pipeline.spark_work import pipeline_errors, start_spark, watch_queries

if TYPE_CHECKING:
    from ottla.pipeline.job import Script


def run(options: argparse.Namespace) -> int:
    """Run a program, and wait for the queries that it has started."""
    from ottla.pipeline.job import Script

    with pipeline_errors():
        script = Script(Path(options.script))
        os.environ[BOOTSTRAP_VARIABLE] = cluster_access(options).bootstrap
        spark = start_spark(options, script.path.stem)
        return watch_queries(spark, options, lambda: run_script(script, options.arguments))


def run_script(script: "Script", arguments: list[str]) -> None:
    """Report errors of Spark in a line, with the place in the program; those of the program as Python does."""
    from ottla.pipeline.errors import PipelineError
    from ottla.pipeline.failures import explain_failure

    try:
        script.run(arguments)
    except SystemExit as ended:
        if ended.code:
            # As Python does, which prints what is no number.
            code = ended.code if isinstance(ended.code, int) else ExitCode.FAILED
            raise CommandError(f"{script.path} ended with: {ended.code}", code) from None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == str(script.path)]
        is_sparks = type(error).__module__.startswith(("pyspark.", "py4j."))
        if own and (is_sparks or isinstance(error, PipelineError)):
            where = f"{script.path}, line {own[-1].lineno}"
            raise CommandError(f"{where}: {explain_failure(error)}") from error
        print("Traceback (most recent call last):", file=sys.stderr)
        lines = traceback.format_list(frames[frames.index(own[0]) :] if own else frames)
        print("".join(lines) + "".join(traceback.format_exception_only(error)), file=sys.stderr, end="")
        raise CommandError(f"{script.path} failed") from error
