"""Explaining in a few lines why something failed on Spark, whose errors nest the traces of two languages.

A function that Spark calls back from Java must raise something short for another reason too: Spark searches the whole
text for signs that the query was only stopped, with an expression that runs out of stack on long ones, and the error is
lost with it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ottla.pipeline.errors import PipelineError

_INTERRUPTIONS = re.compile(
    r"java\.lang\.InterruptedException|java\.io\.InterruptedIOException|java\.nio\.channels\.ClosedByInterruptException"
)
_JAVA_TRACE = re.compile(r"\n\s*at [\w.$]+\(|\nJVM stacktrace:|\nDriver stacktrace:")
_OWN = re.compile(r"PipelineError: .+|OptionError: .+|^ottla\.client\.[\w.]+: .+", re.MULTILINE)
# Enough for the traceback of a user's function, and far less than what breaks Spark.
_REASON_CHARACTERS_MAX = 4_000

# The end of a Python traceback. Classes that wrap another error are left out: the wrapped one stands below.
_CARRIERS: Final = r"pyspark\.|py4j\.|java\.|scala\.|org\."
_ENDINGS: Final = "Error|Exception|Exit|Interrupt|Failure|TimedOut|Timeout"
_PYTHON_ERROR: Final = re.compile(rf"^(?!{_CARRIERS})(?:\w+\.)*(\w+(?:{_ENDINGS}): .+)$", re.MULTILINE)
# A follow-up failure in Spark's own Python, which says nothing. (Its runner of sources stops a reader that was never
# made.)
_FOLLOWING: Final = re.compile(
    r"\n+During handling of the above exception, another exception occurred:\n+"
    r"Traceback \(most recent call last\):\n(?P<frames>(?:[ \t]+.*\n)*)\S.*"
)
_PYSPARK_FILE: Final = re.compile(r'^ +File "[^"]*[/\\]pyspark[/\\]', re.MULTILINE)
_CALLING: Final = re.compile(r"^An error occurred while calling \S+\n: (?:[\w.$]+: )?")
_TERMINATED: Final = "terminated with exception: "
_LOST_TASK: Final = re.compile(r"most recent failure: Lost task .*?\): (?:[\w.$]+: )?(.+)")
_CONDITION: Final = re.compile(r"^\[[A-Z_.0-9]+\] ")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+;?")


class Interrupted(Exception):
    """The query was stopped while it waited; Spark recognises that by the text."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"py4j.protocol.Py4JJavaError: An error occurred while calling the sink\n: {kind}\n")


def find_reason(error: BaseException) -> str:
    """Find what went wrong, without Java's traces: our own message if there is one, else the Python traceback."""
    text = str(error)
    own = _OWN.findall(text)
    if own:
        return str(own[-1]).partition(": ")[2]
    python_part = _JAVA_TRACE.split(text, maxsplit=1)[0].strip()
    return python_part[-_REASON_CHARACTERS_MAX:] or type(error).__name__


def find_interruption(error: BaseException) -> Interrupted | None:
    """Make the error to raise instead if the query was only stopped; None if it was not."""
    found = _INTERRUPTIONS.search(str(error))
    return None if found is None else Interrupted(found[0])


def explain_failure(error: BaseException) -> str:
    """Explain on one line why a query died: our own message, else the innermost Python error, else what Spark says."""
    text = _without_followers(str(error))
    if not text:
        return type(error).__name__
    # A wrapper stands above what it wraps, so the last error is the root cause.
    causes = {found.start(): found[0].partition(": ")[2] for found in _OWN.finditer(text)}
    causes |= {found.start(1): found[1] for found in _PYTHON_ERROR.finditer(text) if found.start(1) not in causes}
    if causes:
        return _plain(causes[max(causes)])
    home = type(error).__module__
    if home.startswith(("pyspark", "py4j")):
        return _said_by_spark(text)
    first = text.splitlines()[0]
    return first if home.startswith("ottla.") else f"{type(error).__name__}: {first}"


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into a PipelineError that explains it."""
    try:
        yield
    except Exception as error:
        # By name: if no session was started, Spark need not be imported to see that the error is not its own.
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        raise PipelineError(explain_failure(error)) from error


def _without_followers(text: str) -> str:
    return _FOLLOWING.sub(lambda found: "" if _is_pysparks(found["frames"]) else found[0], text)


def _is_pysparks(frames: str) -> bool:
    last = [line for line in frames.splitlines() if line.lstrip().startswith("File ")][-1:]
    return bool(last) and _PYSPARK_FILE.match(last[0]) is not None


def _said_by_spark(text: str) -> str:
    lost = _LOST_TASK.search(text)
    if lost is not None:
        return _plain(lost[1])
    said = _CALLING.sub("", text.rpartition(_TERMINATED)[2])
    lines = [line for line in said.splitlines() if line.strip()]
    return _plain(lines[0])


def _plain(line: str) -> str:
    return _SQL_STATE.sub("", _CONDITION.sub("", line.strip())).strip().removesuffix(";")
