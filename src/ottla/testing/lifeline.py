"""The child of an embedded cluster: `ottla server` that ends with the process that started it.

Standard input is the lifeline. The parent holds its other end and never writes; when the parent is gone, however it
went, the kernel closes that end and the child reads the end of the file. (A signal on the parent's death would come too
early: it is sent when the *thread* ends that started the child.) The node then stops, and takes its directory with it,
since nobody is left who could.

    python -m ottla.testing.lifeline DIRECTORY server --data DIRECTORY/data ...
"""

import os
import runpy
import shutil
import signal
import sys
import threading
from types import FrameType
from typing import Final

# The exit code of a process that SIGTERM ended, as shells count.
ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM
STOP_TIMEOUT_S: Final = 10.0


def main() -> None:
    """Runs the command line after the first argument, and removes the first one's directory if the parent dies."""
    directory = sys.argv[1]
    is_orphan = threading.Event()
    # Until the node takes signals over, one of them must not keep the directory from being removed.
    signal.signal(signal.SIGTERM, _exit)
    threading.Thread(target=_watch, args=(is_orphan,), name="lifeline", daemon=True).start()
    sys.argv[1:] = sys.argv[2:]
    try:
        runpy.run_module("ottla", run_name="__main__", alter_sys=True)
    finally:
        if is_orphan.is_set():
            shutil.rmtree(directory, ignore_errors=True)


def _watch(is_orphan: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    is_orphan.set()
    os.kill(os.getpid(), signal.SIGTERM)
    # The process ends before this does, unless the node cannot stop.
    threading.Event().wait(STOP_TIMEOUT_S)
    os._exit(ENDED_BY_SIGTERM)


def _exit(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.exit(ENDED_BY_SIGTERM)


if __name__ == "__main__":
    main()
