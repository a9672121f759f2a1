"""Why a query died, in a sentence: Spark wraps a Python error in Java exceptions, and shows all of their traces."""

import re
from typing import Final

# The end of a Python traceback. Classes that carry somebody else's error are left out: what they carry stands below.
_CARRIERS: Final = r"pyspark\.|py4j\.|java\.|scala\.|org\."
_ENDINGS: Final = "Error|Exception|Exit|Interrupt|Failure|TimedOut|Timeout"
_PYTHON_ERROR: Final = re.compile(rf"^(?!{_CARRIERS})([A-Za-z_][\w.]*(?:{_ENDINGS})): (.+)$", re.MULTILINE)
_OURS: Final = "ottla.pipeline."
_TERMINATED: Final = "terminated with exception: "
_LOST_TASK: Final = re.compile(r"most recent failure: Lost task .*?\): (?:[\w.$]+: )?(.+)")
_CONDITION: Final = re.compile(r"^\[[A-Z_.0-9]+\] ")
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+;?")


def explain_failure(error: BaseException) -> str:
    """What went wrong, on one line: our own message, else that of the Python error, else what Spark says."""
    text = str(error)
    found = _PYTHON_ERROR.findall(text)
    if type(error).__module__.startswith(_OURS) or not text:
        return text or type(error).__name__
    ours = [message for name, message in found if name.startswith(_OURS)]
    if ours:
        return _clean(ours[-1])
    if found:
        name, message = found[-1]
        return _clean(f"{name.rpartition('.')[2]}: {message}")
    if not type(error).__module__.startswith(("pyspark", "py4j")):
        return f"{type(error).__name__}: {text.splitlines()[0]}"
    return _said_by_spark(text)


def _said_by_spark(text: str) -> str:
    lost = _LOST_TASK.search(text)
    if lost is not None:
        return _clean(lost[1])
    lines = [line for line in text.rpartition(_TERMINATED)[2].splitlines() if line.strip()]
    return _clean(lines[0])


def _clean(line: str) -> str:
    return _STATE.sub("", _CONDITION.sub("", line.strip())).strip().removesuffix(";")
