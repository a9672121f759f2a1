import signal

import pytest

from ottla.pipeline.jvm import _signals_later, drop_noise

STOPPED_IN_A_BATCH = b"""\
Exception in thread "stream execution thread for [id = 277a, runId = 383a]" java.lang.StackOverflowError
\tat java.base/java.util.regex.Pattern$Loop.match(Pattern.java:4898)
\t... 1021 more
"""
ENDED_WORKER = b"""\
Traceback (most recent call last):
  File "/opt/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
  File "/opt/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
TRACE_OF_A_USER = b"""\
Traceback (most recent call last):
  File "/home/ada/job.py", line 3, in shout
    send(text)
BrokenPipeError: [Errno 32] Broken pipe
"""


def told(text: bytes) -> bytes:
    return b"".join(drop_noise(text.splitlines(keepends=True)))


def test_noise_is_not_told() -> None:
    banner = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
    assert told(banner + STOPPED_IN_A_BATCH + ENDED_WORKER) == b""


def test_errors_are_told_without_their_java_stack() -> None:
    error = b"12:00:00 spark ERROR BlockManager: disk full\n"
    assert told(error + b"\tat org.apache.spark.storage.X(Y.scala:1)\n" + error) == error + error


def test_a_traceback_of_python_is_told_whole() -> None:
    assert told(TRACE_OF_A_USER + ENDED_WORKER + b"after\n") == TRACE_OF_A_USER + b"after\n"
    unfinished = TRACE_OF_A_USER[: TRACE_OF_A_USER.index(b"Broken")]
    assert told(unfinished) == unfinished


def test_workers_that_end_together_are_not_told_either() -> None:
    mixed = b"".join(line * 2 for line in ENDED_WORKER.splitlines(keepends=True))
    assert told(mixed + b"after\n") == b"after\n"


def test_ctrl_c_comes_when_the_jvm_is_known() -> None:
    launched = []
    with pytest.raises(KeyboardInterrupt), _signals_later():
        signal.raise_signal(signal.SIGINT)
        launched.append("JVM")
    assert launched == ["JVM"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
