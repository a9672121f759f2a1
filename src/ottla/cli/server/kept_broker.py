"""A broker of a row: `ottla server` that ends with the process that keeps it.

Standard input is the lifeline. The keeper holds its other end and never writes; when the keeper is gone, however it
went, the kernel closes that end, and the broker reads the end of the file. It then stops in order, as after SIGTERM.

    python -m ottla.cli.server.kept_broker DIR/broker-2.properties
"""

import os
import signal
import sys
import threading
from typing import Final

from ottla.cli.main import main

# A broker that cannot stop in this time is ended: nobody is left who could do it.
STOP_TIMEOUT_S: Final = 60.0
# The exit code of a process that SIGTERM ended, as shells count.
_ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM


def run() -> int:
    """Runs the broker of the file in the first argument; the value is the exit code."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()
    return main(["server", *sys.argv[1:]])


def _watch() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # The process ends before this does, unless the broker cannot stop.
    threading.Event().wait(STOP_TIMEOUT_S)
    os._exit(_ENDED_BY_SIGTERM)


if __name__ == "__main__":
    sys.exit(run())
