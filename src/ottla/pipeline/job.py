"""Running queries until they end, one dies, or the user stops them: what `ottla pipeline` does around them.

A job is as healthy as all of its queries: when one dies, the others are stopped, so that a supervisor notices and
restarts all of them.
"""

import signal
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.failures import explain_failure
from ottla.pipeline.spark_session import is_started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_INTERVAL_S: Final = 0.2


class Script:
    """A program of the user's, read and compiled before Spark is started for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._code = compile(path.read_bytes(), str(path), "exec")
        except OSError as error:
            raise PipelineError(f"{path} cannot be read: {error.strerror}") from None
        except (SyntaxError, ValueError) as error:
            raise PipelineError(f"{path} is not a Python program: {error}") from None

    def run(self, arguments: Sequence[str]) -> None:
        """Run it as Python would, as the module `__main__`, which stays: its functions are pickled by value."""
        module = types.ModuleType("__main__")
        module.__file__ = str(self.path)
        sys.modules["__main__"] = module
        sys.argv = [str(self.path), *arguments]
        sys.path.insert(0, str(self.path.resolve().parent))
        exec(self._code, module.__dict__)


def wait_for_queries(spark: "SparkSession") -> None:
    """Wait until no query of the session is left; PipelineError as soon as one has died."""
    from pyspark.errors import StreamingQueryException

    seen: dict[str, StreamingQuery] = {}
    look = threading.Event()
    while is_started() and (active := spark.streams.active):
        seen |= {str(query.runId): query for query in active}
        look.wait(_LOOK_INTERVAL_S)
        for query in seen.values():
            _raise_failure(query)
    if not is_started():
        return
    try:
        # The failure of a query that ended before it was seen.
        spark.streams.awaitAnyTermination(0)
    except StreamingQueryException as failure:
        raise PipelineError(f"a query failed: {explain_failure(failure)}") from failure


def _raise_failure(query: "StreamingQuery") -> None:
    failure = None if query.isActive else query.exception()
    if failure is not None:
        raise PipelineError(f"query {query.name or query.id} failed: {explain_failure(failure)}") from failure


@contextmanager
def stopping_queries(spark: "SparkSession") -> Iterator[None]:
    """Stop the queries of the session, and then Spark, when the block ends, however it ends.

    A running batch is ended or aborted; with an exactly-once sink that loses nothing and writes nothing twice.
    """
    try:
        yield
    finally:
        if is_started():
            for query in spark.streams.active:
                query.stop()
            spark.stop()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt; PySpark's own handler would let batches fail before that."""

    def interrupt(_number: int, _frame: types.FrameType | None) -> None:
        # The second Ctrl-C ends everything, wherever it is.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
