"""Starting Spark's JVM on the driver so that it shows nothing but errors.

What it writes to stderr comes through a pipe, because some of it no setting can silence: the line about incubator
modules, Python workers that were ended while they wrote, and the stack of a thread that was stopped in the middle of a
batch (Spark 4 matches the error of a `foreachBatch` with a regular expression that overflows it; the query is still
stopped).
"""

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_LOG_SETTINGS: Final = Path(__file__).with_name("log4j2.properties")
_LOG_OPTION: Final = "-Dlog4j2.configurationFile"
_JVM_OPTIONS: Final = "SPARK_SUBMIT_OPTS"

_NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|\s+at |\s+\.\.\. \d+ more"
    rb'|Exception in thread "stream execution thread .*StackOverflowError'
)
_TRACEBACK: Final = b"Traceback (most recent call last):"
_PIPE_OF_DAEMON: Final = re.compile(rb'Traceback|  File ".*/pyspark/daemon\.py"|    |BrokenPipeError')
_CLEAR_LINE: Final = b"\r\x1b[K"


def launch_jvm(settings: dict[str, str], *, quietly: bool) -> None:
    """Start the JVM with these settings, unless this process has one already (or spark-submit has started it)."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
        return
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    if not quietly:
        SparkContext._ensure_initialized(conf=conf)
        return
    _silence_pyspark()
    before = os.environ.get(_JVM_OPTIONS)
    # Not spark.driver.extraJavaOptions, which belongs to the user and would be replaced.
    if _LOG_OPTION not in (before or ""):
        os.environ[_JVM_OPTIONS] = f"{before or ''} {_LOG_OPTION}={_LOG_SETTINGS.as_uri()}".strip()
    reading, writing = os.pipe()
    threading.Thread(target=_forward, args=(reading,), name="stderr of Spark", daemon=True).start()
    try:
        with _signals_later():
            gateway = launch_gateway(conf, popen_kwargs={"stderr": writing})  # type: ignore[no-untyped-call]
    finally:
        os.close(writing)
        if before is None:
            os.environ.pop(_JVM_OPTIONS, None)
        else:
            os.environ[_JVM_OPTIONS] = before
    SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def _signals_later() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM: a JVM that cannot report its port runs for ever.

    One that could report it ends with its parent.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {
        number: signal.signal(number, lambda received, _frame: arrived.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if arrived:
            signal.raise_signal(arrived[0])


def _silence_pyspark() -> None:
    """Stop PySpark from writing SQL errors to stderr, with their Java traces as JSON: it raises them anyway."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _forward(reading: int) -> None:
    """Copy lines to this process's stderr until the JVM has ended."""
    target = sys.__stderr__.fileno() if sys.__stderr__ is not None else 2
    # A line of progress may be on the terminal.
    prefix = _CLEAR_LINE if os.isatty(target) else b""
    with open(reading, "rb") as lines:
        for told in drop_noise(lines):
            os.write(target, prefix + told)


def drop_noise(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Drop the noise from lines; a Python traceback stays in one piece, and so do several whose lines are mixed."""
    trace: list[bytes] = []
    unfinished = 0
    for line in lines:
        if line.startswith(_TRACEBACK):
            trace.append(line)
            unfinished += 1
        elif trace:
            trace.append(line)
            unfinished -= not line.startswith(b" ")
            if unfinished:
                continue
            # Workers that are no longer needed cannot report their end to anyone.
            if not all(_PIPE_OF_DAEMON.match(told) for told in trace):
                yield b"".join(trace)
            trace = []
        elif not _NOISE.match(line):
            yield line
    if trace:
        yield b"".join(trace)
