"""The child of an embedded cluster: `ottla server` that ends with the process that started it.

Standard input is the lifeline. The parent holds its other end and never writes; when the parent is gone, however it
went, the kernel closes that end and the child reads the end of the file. (A signal on the parent's death would come too
early: it is sent when the *thread* ends that started the child.) The node then stops, and takes its directory with it,
since nobody is left who could.

    python -m ottla.testing.lifeline DIRECTORY server --data DIRECTORY/data ...
"""

import os
import runpy
import select
import shutil
import signal
import sys
import threading
from types import FrameType
from typing import Final

# The exit code of a process that SIGTERM ended, as shells count.
ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM
STOP_TIMEOUT_S: Final = 10.0
ORPHAN_PATIENCE_S: Final = 0.2


def main() -> None:
    """Runs the command line after the first argument, and removes the first one's directory if the parent dies."""
    directory = sys.argv.pop(1)
    # What the node meets first when its parent dies may be a pipe that nobody reads, a moment before the lifeline ends.
    patience_s = ORPHAN_PATIENCE_S
    try:
        # Until the node takes signals over, one of them must not keep the directory from being removed.
        signal.signal(signal.SIGTERM, _exit)
        threading.Thread(target=_watch, name="lifeline", daemon=True).start()
        runpy.run_module("ottla", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code == 0:
            patience_s = 0.0
        raise
    finally:
        if _is_orphan(patience_s):
            shutil.rmtree(directory, ignore_errors=True)


def _is_orphan(patience_s: float) -> bool:
    """Whether the lifeline has ended; the parent never writes, so there is nothing else to read."""
    readable, _, _ = select.select([0], [], [], patience_s)
    return bool(readable)


def _watch() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # The process ends before this does, unless the node cannot stop.
    threading.Event().wait(STOP_TIMEOUT_S)
    os._exit(ENDED_BY_SIGTERM)


def _exit(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.exit(ENDED_BY_SIGTERM)


if __name__ == "__main__":
    main()
