"""A program under test that runs until it is told to end, with a directory and a port of its own.

It may be stopped, killed and started again, and finds the same directory and port.
"""

import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from harness.ports import free_port
from harness.waiting import eventually

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0


class ServerProcess(ABC):
    def __init__(self, home: Path) -> None:
        self.home = home
        self.output = home / "server.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _serves(self) -> bool:
        """Whether clients can use it."""

    def _variables(self) -> dict[str, str] | None:
        """The environment that it runs in; None for the one of the tests."""
        return None

    def start(self) -> None:
        self.launch()
        self.until_up()

    def launch(self) -> None:
        """Starts the process and does not wait for it."""
        assert self._process is None, "the server is running"
        # A test run that is itself killed must not leave servers behind; where this tool is missing, they stay.
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [*guard, *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=self._variables(),
            )

    def until_up(self) -> None:
        """Returns when a launched server serves."""
        eventually(self._answers, timeout_s=START_TIMEOUT_S)

    def _answers(self) -> bool:
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            self._process = None
            raise AssertionError(f"the server ended with {code} while starting:\n{self.output_tail()}")
        return self._serves()

    def stop(self) -> int:
        """SIGTERM, as an operator would; the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: what a crash of the process leaves."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM, without waiting for the end."""
        assert self._process is not None, "the server is not running"
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit code of a server that was told to end."""
        assert self._process is not None, "the server is not running"
        process, self._process = self._process, None
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"no end within {STOP_TIMEOUT_S:g} s:\n{self.output_tail()}") from None

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None, "the server is not running"
        self._process.send_signal(how)
        return self.wait()

    def close(self) -> None:
        if self._process is not None:
            self.stop()

    def output_tail(self, lines: int = 40) -> str:
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])
