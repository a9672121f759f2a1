"""Programs that work until they are told to end, and may be killed, frozen and replaced; what they say is kept."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.waiting import eventually

END_TIMEOUT_S = 120.0


class Worker:
    """`command` makes the command of the n-th process: a successor may need another name."""

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        environment: Mapping[str, str] | None = None,
        errors: Path | None = None,
    ) -> None:
        self._command = command
        self._environment = environment
        # Where it complains, if that is much.
        self._errors = errors
        self._runs = 0
        # One line each; of all processes so far.
        self.said: list[str] = []
        self._start()

    def _start(self) -> None:
        with contextlib.ExitStack() as closing:
            self._process = subprocess.Popen(
                self._command(self._runs),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=closing.enter_context(self._errors.open("a")) if self._errors else None,
                text=True,
                env=self._environment,
                start_new_session=True,
            )
        self._runs += 1
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.said.append(line.rstrip("\n"))

    def count(self, word: str) -> int:
        """How often it said something that begins so."""
        return sum(line.startswith(word) for line in list(self.said))

    def wait_until_said(self, word: str, times: int = 1, *, timeout_s: float = 60.0) -> None:
        eventually(lambda: self._said(word), lambda found: found >= times, timeout_s=timeout_s)

    def _said(self, word: str) -> int:
        return self.count(word)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def replace(self) -> None:
        """kill -9, and a successor."""
        self.kill()
        self._start()

    def revive(self) -> None:
        """A successor, if it ended by itself."""
        if self.has_ended:
            self.replace()

    @property
    def pid(self) -> int:
        return self._process.pid

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        """To it and to all that it has started in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, which)

    def tell(self, line: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def wait(self) -> int:
        """The exit code of a process that ends by itself."""
        code = self._process.wait(END_TIMEOUT_S)
        self._hang_up()
        return code

    def finish(self) -> int:
        """Lets it end what it is about; the exit code."""
        assert self._process.stdin is not None
        if not self.has_ended:
            self.tell()
        return self.wait()

    def start(self) -> None:
        """A successor of one that has ended."""
        assert self.has_ended
        self._start()

    def kill(self) -> None:
        """kill -9."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._hang_up()

    def _hang_up(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._listener.join(END_TIMEOUT_S)
        self._process.stdin.close()
        self._process.stdout.close()

    def close(self) -> None:
        if not self.has_ended:
            self._signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                self._listener.join(END_TIMEOUT_S)
                stream.close()
