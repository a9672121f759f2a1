"""Why something failed on Spark, in a few lines: its errors come with the traces of two languages, one in the other.

A function that Spark calls back from Java must raise something short for another reason too: Spark searches the whole
text for signs that the query was only stopped, with an expression that runs out of stack on long ones, and the error is
lost with it.
"""

import re

_INTERRUPTIONS = re.compile(
    r"java\.lang\.InterruptedException|java\.io\.InterruptedIOException|java\.nio\.channels\.ClosedByInterruptException"
)
_JAVA_TRACE = re.compile(r"\n\s*at [\w.$]+\(|\nJVM stacktrace:|\nDriver stacktrace:")
_OWN = re.compile(r"PipelineError: .+|OptionError: .+")
# Enough for the traceback of somebody's function, and far from what Spark cannot take.
_REASON_CHARACTERS_MAX = 4_000


class Interrupted(Exception):
    """The query was stopped while it waited; the text is what Spark knows it by."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"py4j.protocol.Py4JJavaError: An error occurred while calling the sink\n: {kind}\n")


def reason_of(error: BaseException) -> str:
    """What went wrong, without Java's part of the story: our own words if there are any, else the Python traceback."""
    text = str(error)
    own = _OWN.findall(text)
    if own:
        return str(own[-1]).partition(": ")[2]
    python_part = _JAVA_TRACE.split(text, maxsplit=1)[0].strip()
    return python_part[-_REASON_CHARACTERS_MAX:] or type(error).__name__


def interruption_of(error: BaseException) -> Interrupted | None:
    """What to raise instead, if the error is only that the query was stopped."""
    found = _INTERRUPTIONS.search(str(error))
    return None if found is None else Interrupted(found[0])
