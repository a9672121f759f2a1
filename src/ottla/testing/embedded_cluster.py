"""A cluster for tests: a node in a child process, on a free port, with data that goes away.

    with EmbeddedCluster() as cluster:
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})

The node chooses its port and says which one it is, so nothing can take the port in between. The port and the data stay
the same from `start` to `stop`, through `kill` and `restart`. The child ends with this process, even when this process
is killed (see `ottla.testing.lifeline`).
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.config.unknown_settings import advice
from ottla.protocol.written_numbers import parse_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

HOST: Final = "127.0.0.1"
START_TIMEOUT_S: Final = 60.0
END_TIMEOUT_S: Final = 30.0
LOG_TAIL_LINES: Final = 40

# What differs from a server: no waiting for more members before a group's first rebalance, and groups in one partition
# instead of fifty, because making fifty logs is most of the time that a first consumer waits.
CONFIG: Final = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}

_ANNOUNCEMENT: Final = re.compile(rb"^\s*bootstrap\s+(\S+:(\d+))\s", re.MULTILINE)


class ClusterError(Exception):
    """The cluster does not do what was asked of it; the message says why."""


class EmbeddedCluster:
    """A cluster of one broker. Use it as `with`, or call `start` and `stop`.

    `config` has broker settings by Kafka's names, stronger than those of `CONFIG`; a name that is none raises. With
    `port` the node listens there, and not on a port of its own choice.
    """

    def __init__(self, brokers: int = 1, *, config: Mapping[str, object] | None = None, port: int = 0) -> None:
        if brokers != 1:
            raise ValueError(f"brokers={brokers}: a cluster has one broker, until nodes replicate. Write brokers=1.")
        self._wanted_port = parse_port(str(port))
        given = {name: _text(value) for name, value in (config or {}).items()}
        for name, hint in advice(given).items():
            # A server warns and goes on, because its files outlive versions; a test would test something else.
            raise ValueError(f"config={{{name!r}: ...}}: there is no setting {name}: {hint}")
        self._config = CONFIG | given
        self._process: subprocess.Popen[bytes] | None = None
        self._home: Path | None = None
        self._address = ""
        self._port = self._wanted_port
        self._held_port: socket.socket | None = None

    def __enter__(self) -> EmbeddedCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to, as HOST:PORT."""
        if not self._address:
            raise ClusterError("The cluster has no address before it is started: call start(), or use it as `with`.")
        return self._address

    def get_bootstrap_server(self) -> str:
        """The same, under the name that testcontainers gives it."""
        return self.bootstrap_servers

    @property
    def is_running(self) -> bool:
        """Whether the node's process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def data_directory(self) -> Path:
        """Where the node keeps its logs, from `start` to `stop`."""
        return self._existing_home() / "data"

    def log(self) -> str:
        """What the node wrote to its log, from `start` to `stop`."""
        return (self._existing_home() / "node.log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> EmbeddedCluster:
        """Returns when clients are served; after `kill`, at the same address and with the same data."""
        if self.is_running:
            raise ClusterError(f"The cluster is running already, at {self.bootstrap_servers}.")
        self._reap()
        is_new = self._home is None
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="ottla-"))
        try:
            self._process = self._spawn(self._home)
            self._address, self._port = self._announced_address(self._process)
        except BaseException:
            self._end(signal.SIGKILL)
            if is_new:
                self._forget()
            raise
        return self

    def stop(self) -> None:
        """Ends the node and removes its data; nothing happens when there is none."""
        # Data that is thrown away needs no orderly end.
        self._end(signal.SIGKILL)
        self._forget()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends the node and keeps port and data: a crash, or with SIGTERM an orderly shutdown."""
        if not self.is_running:
            raise ClusterError("The cluster is not running: there is nothing to kill.")
        self._end(how)
        self._hold_port()

    def restart(self) -> None:
        """Starts the node again at the same address with the same data; one that runs is shut down first."""
        if self._home is None:
            raise ClusterError("The cluster was never started, or was stopped: call start().")
        if self.is_running:
            self.kill(signal.SIGTERM)
        self.start()

    # -- the child ----------------------------------------------------------------------------------------------------

    def _spawn(self, home: Path) -> subprocess.Popen[bytes]:
        overrides = [part for name, value in self._config.items() for part in ("--override", f"{name}={value}")]
        command = [sys.executable, "-P", "-m", "ottla.testing.lifeline", str(home)]
        command += ["server", "--data", str(home / "data"), "--listen", f"{HOST}:{self._port}", *overrides]
        with (home / "node.log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C in the terminal is for the tests; they end the node.
                start_new_session=True,
                # The node refuses to run without its assertions, however the tests run.
                env={name: value for name, value in os.environ.items() if name != "PYTHONOPTIMIZE"},
            )

    def _announced_address(self, process: subprocess.Popen[bytes]) -> tuple[str, int]:
        assert process.stdout is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        printed = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (found := _ANNOUNCEMENT.search(printed)) is None:
                if not selector.select(deadline - time.monotonic()):
                    raise ClusterError(f"The node did not start within {START_TIMEOUT_S:g} s. {self._shown_log()}")
                read = os.read(process.stdout.fileno(), 4096)
                if not read:
                    code = process.wait(END_TIMEOUT_S)
                    raise ClusterError(f"The node ended with code {code} while it started. {self._shown_log()}")
                printed += read
        return found.group(1).decode(), int(found.group(2))

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
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
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()
            self._process = None

    def _hold_port(self) -> None:
        """Keeps others, and the system, from using the port while no node listens on it.

        Linux lets the next node listen beside a socket that is bound and does not listen. Elsewhere the port is free
        for the time.
        """
        if sys.platform != "linux" or self._held_port is not None:
            return
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, self._port))
        except OSError:
            held.close()
        else:
            self._held_port = held

    def _forget(self) -> None:
        self._address, self._port = "", self._wanted_port
        if self._held_port is not None:
            self._held_port.close()
            self._held_port = None
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None

    def _existing_home(self) -> Path:
        if self._home is None:
            raise ClusterError("The cluster has no directory before it is started: call start(), or use it as `with`.")
        return self._home

    def _shown_log(self) -> str:
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = self.log().splitlines()[-LOG_TAIL_LINES:]
        return "\n".join(("The end of its log:", *lines)) if lines else "Its log is empty."


def _text(value: object) -> str:
    """A setting as a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
