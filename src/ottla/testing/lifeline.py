"""The child of an embedded cluster: `ottla server` that ends with the process that started it.

Standard input is the lifeline, a socket of which the parent holds the other end. When the parent is gone, however it
went, the kernel closes that end and the child reads the end of the file. (A signal on the parent's death would come too
early: it is sent when the *thread* ends that started the child.) The node then stops, and takes its directory with it,
since nobody is left who could.

Over the same socket the parent tells which links of the node are cut (`cuttable_links`): a table in JSON on each line,
the first before the node starts. The child answers each with one byte when it is in force.

    python -m ottla.testing.lifeline DIRECTORY PORTS server --data DIRECTORY/data ...
"""

import json
import os
import runpy
import select
import shutil
import signal
import sys
import threading
from asyncio import AbstractEventLoop
from contextlib import suppress
from types import FrameType
from typing import Final

from ottla.broker import process
from ottla.client.event_loop import event_loop_class
from ottla.testing.cuttable_links import CuttableLinks
from ottla.testing.network_cuts import of_json

# The exit code of a process that SIGTERM ended, as shells count.
ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM
STOP_TIMEOUT_S: Final = 10.0
ORPHAN_PATIENCE_S: Final = 0.2
_ANSWER: Final = b"\n"


def main() -> None:
    """Runs the command line after the first two arguments; removes the first one's directory if the parent dies."""
    directory, ports = sys.argv.pop(1), json.loads(sys.argv.pop(1))
    # What the node meets first when its parent dies may be a pipe that nobody reads, a moment before the lifeline ends.
    patience_s = ORPHAN_PATIENCE_S
    try:
        # Until the node takes signals over, one of them must not keep the directory from being removed.
        signal.signal(signal.SIGTERM, _exit)
        lifeline = _Lifeline(CuttableLinks(ports))
        lifeline.obey_first()
        threading.Thread(target=lifeline.watch, name="lifeline", daemon=True).start()
        process.new_event_loop = lifeline.new_event_loop
        runpy.run_module("ottla", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code == 0:
            patience_s = 0.0
        raise
    finally:
        if _is_orphan(patience_s):
            shutil.rmtree(directory, ignore_errors=True)


class _Lifeline:
    """What the parent tells over standard input."""

    def __init__(self, links: CuttableLinks) -> None:
        self._links = links
        self._read = b""
        # Whoever changes links looks at the loop first.
        self._lock = threading.Lock()
        self._loop: AbstractEventLoop | None = None

    def new_event_loop(self) -> AbstractEventLoop:
        """The loop of the node; from now on, its thread alone changes links."""
        with self._lock:
            self._loop = self._links.loop_class(event_loop_class())()
            return self._loop

    def obey_first(self) -> None:
        """Takes the first table; returns without one if the parent is gone already."""
        line = self._next_line()
        if line is not None:
            self._obey(line)

    def watch(self) -> None:
        """Takes tables until the parent is gone, then ends the process."""
        while (line := self._next_line()) is not None:
            self._obey(line)
        os.kill(os.getpid(), signal.SIGTERM)
        # The process ends before this does, unless the node cannot stop.
        threading.Event().wait(STOP_TIMEOUT_S)
        os._exit(ENDED_BY_SIGTERM)

    def _next_line(self) -> bytes | None:
        while b"\n" not in self._read:
            read = _read()
            if not read:
                return None
            self._read += read
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _obey(self, line: bytes) -> None:
        table = of_json(json.loads(line))

        def change() -> None:
            self._links.change(table)
            with suppress(OSError):  # The parent is gone.
                os.write(0, _ANSWER)

        with self._lock:
            if self._loop is None:
                change()
            else:
                with suppress(RuntimeError):  # The node has ended, and its loop with it.
                    self._loop.call_soon_threadsafe(change)


def _read() -> bytes:
    """What the parent says next; nothing if it is gone."""
    try:
        return os.read(0, 65536)
    except ConnectionError:  # It left without reading our last answer.
        return b""


def _is_orphan(patience_s: float) -> bool:
    """Whether the lifeline has ended."""
    while select.select([0], [], [], patience_s)[0]:
        if not _read():
            return True
    return False


def _exit(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.exit(ENDED_BY_SIGTERM)


if __name__ == "__main__":
    main()
