"""A node in a child process that ends with this one, even when this one is killed (see `ottla.testing.lifeline`).

This process holds the other end of the lifeline, over which it tells the child which links to cut.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

from ottla.testing.network_cuts import Cut, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

START_TIMEOUT_S: Final = 60.0
END_TIMEOUT_S: Final = 30.0
CUT_TIMEOUT_S: Final = 30.0
LOG_TAIL_LINES: Final = 40

_ANNOUNCEMENT: Final = re.compile(rb"^\s*bootstrap\s+\S+:\d+\s", re.MULTILINE)


class ClusterError(Exception):
    """The cluster does not do what was asked of it; the message says why."""


class EmbeddedNode:
    """One node, started as often as it is wanted, always with the same command and the same log."""

    def __init__(
        self, home: Path, log_path: Path, arguments: Sequence[str], ports: Mapping[str, Sequence[int]]
    ) -> None:
        """`arguments` are the words after `ottla`; `ports` lead to its peers, as `CuttableLinks` has them.

        If this process dies, the child removes `home`.
        """
        self._home = home
        self._log_path = log_path
        self._arguments = arguments
        self._ports = ports
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket
        self._cuts: Mapping[str, Cut] = {}
        self._is_frozen = False
        # Tables that the child has not said are in force.
        self._unanswered = 0

    @property
    def is_running(self) -> bool:
        """Whether its process is there; a frozen one is."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def log(self) -> str:
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    def spawn(self) -> None:
        """Starts the process; it serves once `wait_until_serving` has returned."""
        self._reap()
        program = [sys.executable, "-P", "-m", "ottla.testing.lifeline"]
        command = [*program, str(self._home), json.dumps(self._ports), *self._arguments]
        self._is_frozen, self._unanswered = False, 0
        self._lifeline, end_of_child = socket.socketpair()
        with self._log_path.open("ab") as log, end_of_child:
            self._process = subprocess.Popen(
                command,
                stdin=end_of_child.fileno(),
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C in the terminal is for the tests; they end the node.
                start_new_session=True,
                # The node refuses to run without its assertions, however the tests run.
                env={name: value for name, value in os.environ.items() if name != "PYTHONOPTIMIZE"},
            )
        self._tell_cuts()

    def wait_until_serving(self) -> None:
        """Returns when the node has said where it serves."""
        process = self._process
        assert process is not None, "the node was spawned"
        assert process.stdout is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        printed = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while _ANNOUNCEMENT.search(printed) is None:
                if not selector.select(deadline - time.monotonic()):
                    raise ClusterError(f"The node did not start within {START_TIMEOUT_S:g} s. {self._shown_log()}")
                read = os.read(process.stdout.fileno(), 4096)
                if not read:
                    code = process.wait(END_TIMEOUT_S)
                    raise ClusterError(f"The node ended with code {code} while it started. {self._shown_log()}")
                printed += read

    def send(self, how: signal.Signals) -> None:
        """Sends a signal to a process that is there."""
        assert self._process is not None, "the node is running"
        self._process.send_signal(how)
        if how is signal.SIGSTOP:
            self._is_frozen = True
        elif how is signal.SIGCONT:
            self._is_frozen = False
            self._await_answers()

    def cut_links(self, cuts: Mapping[str, Cut]) -> None:
        """Cuts these links, and heals all others; a frozen process does so first when it goes on."""
        self._cuts = cuts
        if self.is_running:
            self._tell_cuts()
            if not self._is_frozen:
                self._await_answers()

    def _tell_cuts(self) -> None:
        # A process that has ended hears nothing, and has no links.
        with contextlib.suppress(OSError):
            self._lifeline.sendall(json.dumps(to_json(self._cuts)).encode() + b"\n")
        self._unanswered += 1

    def _await_answers(self) -> None:
        self._lifeline.settimeout(CUT_TIMEOUT_S)
        try:
            while self._unanswered:
                answered = self._lifeline.recv(self._unanswered)
                if not answered:
                    return
                self._unanswered -= len(answered)
        except TimeoutError:
            text = f"The node did not cut its links within {CUT_TIMEOUT_S:g} s."
            raise ClusterError(f"{text} {self._shown_log()}") from None
        except ConnectionError:
            return

    def end(self, how: signal.Signals) -> None:
        """Ends the process if it is there, frozen or not, and waits for that."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise ClusterError(
                f"The node did not end within {END_TIMEOUT_S:g} s of {how.name}, and was killed. {self._shown_log()}"
            ) from None
        finally:
            self._reap()

    def _reap(self) -> None:
        """Lets go of a process that has ended."""
        if self._process is not None:
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._lifeline.close()
            self._process = None

    def _shown_log(self) -> str:
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = self.log().splitlines()[-LOG_TAIL_LINES:]
        return "\n".join(("The end of its log:", *lines)) if lines else "Its log is empty."
