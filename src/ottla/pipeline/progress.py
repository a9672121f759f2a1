"""`show_progress`: shows how queries progress, in place on a terminal, elsewhere as a line now and then.

A thread polls the queries instead of listening to them: drawing on a terminal must not hold up Spark's events, a query
with ten batches a second does not need ten lines, and a query that is stuck in a batch must be visible too.
"""

import json
import os
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final, TextIO

from ottla.pipeline.failures import explain_failure
from ottla.pipeline.progress_line import progress_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DRAW_INTERVAL_S: Final = 0.5
LINE_INTERVAL_S: Final = 10.0
_COLUMNS_DEFAULT: Final = 120


def show_progress(
    shown: "StreamingQuery | SparkSession",
    stream: TextIO | None = None,
    *,
    in_place: bool | None = None,
    interval_s: float | None = None,
    tells_failures: bool = True,
) -> "Progress":
    """Show a query, or all queries of a session, until `stop()` is called or a `with` block ends.

    By default they are drawn in place if the stream (stderr) is a terminal; elsewhere there is a line every 10 s.
    Without `tells_failures` the caller says why a query has died.
    """
    stream = sys.stderr if stream is None else stream
    drawn = stream.isatty() if in_place is None else in_place
    if interval_s is None:
        interval_s = DRAW_INTERVAL_S if drawn else LINE_INTERVAL_S
    progress = Progress(shown, stream, drawn, interval_s, tells_failures)
    progress.start()
    return progress


class Progress:
    """The polling thread, and what it has drawn."""

    def __init__(
        self,
        shown: "StreamingQuery | SparkSession",
        stream: TextIO,
        is_drawn: bool,
        interval_s: float,
        tells_failures: bool,
    ) -> None:
        self._shown = shown
        self._stream = stream
        self._is_drawn = is_drawn
        self._interval_s = interval_s
        self._tells_failures = tells_failures
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress of queries", daemon=True)
        self._seen: dict[str, StreamingQuery] = {}
        self._over: set[str] = set()
        self._told: dict[str, int] = {}
        self._lines_drawn = 0

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling; what is on the terminal stays, and the next line is below it."""
        self._ended.set()
        self._thread.join()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        from py4j.protocol import Py4JError

        try:
            while not self._ended.wait(self._interval_s):
                self._show()
            self._show()
        except (Py4JError, OSError):
            # The session or the terminal is gone: there is nothing more to show.
            return
        finally:
            if self._lines_drawn:
                self._stream.write("\n")
                self._stream.flush()

    def _show(self) -> None:
        lasting: list[str] = []
        drawn: list[str] = []
        for query in self._queries():
            is_drawn = self._is_drawn and query.isActive
            (drawn if is_drawn else lasting).extend(self._lines_of(query))
        if self._is_drawn:
            self._draw(lasting, drawn)
        else:
            self._stream.writelines(f"{line}\n" for line in lasting)
        self._stream.flush()

    def _queries(self) -> "list[StreamingQuery]":
        """List the queries that run, and those whose end has not been shown yet."""
        from pyspark.sql.streaming.query import StreamingQuery

        active = [self._shown] if isinstance(self._shown, StreamingQuery) else self._shown.streams.active
        self._seen |= {run: query for query in active if (run := str(query.runId)) not in self._over}
        return list(self._seen.values())

    def _lines_of(self, query: "StreamingQuery") -> list[str]:
        """The query's line; none where nothing is drawn in place and nothing is new."""
        run = str(query.runId)
        if not query.isActive:
            del self._seen[run]
            self._over.add(run)
            failure = query.exception()
            if failure is not None and not self._tells_failures:
                return []
            if failure is not None:
                return [f"{query.name or str(query.id)[:8]}  failed: {explain_failure(failure)}"]
        last = query.lastProgress
        if last is None:
            return []
        progress = json.loads(last.json)
        if not self._is_drawn and self._told.get(run) == progress["batchId"]:
            return []
        self._told[run] = progress["batchId"]
        return [progress_line(progress)]

    def _draw(self, lasting: list[str], drawn: list[str]) -> None:
        """Redraw: first the lines about queries that have ended, which stay, then the others."""
        if not (lasting or drawn or self._lines_drawn):
            return
        columns = _columns_of(self._stream)
        up = f"\x1b[{self._lines_drawn - 1}A" if self._lines_drawn > 1 else ""
        ended = "".join(f"{line}\x1b[K\n" for line in lasting)
        self._stream.write(f"{up}\r{ended}" + "\n".join(f"{line[: columns - 1]}\x1b[K" for line in drawn) + "\x1b[J")
        self._lines_drawn = len(drawn)


def _columns_of(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS_DEFAULT
    except (OSError, ValueError):
        return _COLUMNS_DEFAULT
