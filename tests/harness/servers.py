"""A server under test: a node of Ottla, or Apache Kafka itself as the control.

OTTLA_TEST_SERVER=kafka runs every test that uses these fixtures against Apache Kafka: a test that fails there is
wrong. A server is a process with a data directory and a port of its own; it may be stopped, killed and started again,
and finds the same directory and port.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.java import java
from harness.ports import free_port
from harness.waiting import eventually

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0

TEST_SETTINGS = {
    # Kafka waits 3 s for more members before a new group's first rebalance: good in production, dead time here.
    "group.initial.rebalance.delay.ms": "0",
    # Tests choose the times of their records, and those lie years back: retention would delete them.
    "log.retention.ms": "-1",
    # How often transactions that take too long are looked for: 10 s by default.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # What librdkafka's tests expect of topics that appear by themselves.
    "num.partitions": "4",
}


class Server(ABC):
    def __init__(self, home: Path, overrides: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.data = home / "data"
        self.output = home / "server.log"
        self.port = free_port()
        given = TEST_SETTINGS | dict(overrides or {})
        # A test knows the settings before the port is chosen.
        self.settings = {name: value.replace("{bootstrap}", self.bootstrap) for name, value in given.items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @abstractmethod
    def _command(self) -> list[str]: ...

    def _variables(self) -> dict[str, str] | None:
        """The environment that it runs in; None for the one of the tests."""
        return None

    def start(self) -> None:
        self.launch()
        eventually(self._answers, timeout_s=START_TIMEOUT_S)

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

    def _answers(self) -> bool:
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            self._process = None
            raise AssertionError(f"the server ended with {code} while starting:\n{self.output_tail()}")
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        try:
            metadata = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=5)
        except KafkaException:
            return False
        return bool(metadata.brokers)

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

    def partition_directory(self, topic: str, partition: int) -> Path:
        return next(self.data.rglob(f"{topic}-{partition}"))

    def output_tail(self, lines: int = 40) -> str:
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])


class OttlaServer(Server):
    def _command(self) -> list[str]:
        overrides = [part for name, value in self.settings.items() for part in ("--override", f"{name}={value}")]
        program = [sys.executable, "-m", "ottla.cli.main"]
        return [*program, "server", "--data", str(self.data), "--listen", self.bootstrap, *overrides]


class ApacheKafkaServer(Server):
    def __init__(self, home: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(home, overrides)
        self._controller_port = free_port()
        self.properties = home / "server.properties"

    def _command(self) -> list[str]:
        if not self.properties.exists():
            self.write_properties()
        if not self.data.exists():
            self._format()
        options = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",)
        return java("kafka.Kafka", str(self.properties), options=options)

    def write_properties(self) -> None:
        controller = f"127.0.0.1:{self._controller_port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
        } | self.settings
        if "node.id" in self.settings:
            settings["controller.quorum.voters"] = f"{self.settings['node.id']}@{controller}"
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _format(self) -> None:
        format_storage = java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self.properties))
        subprocess.run(format_storage, check=True, capture_output=True)


CLUSTER_ID = "dGVzdC1jbHVzdGVyLTAwMQ"

KINDS: dict[str, type[Server]] = {"ottla": OttlaServer, "kafka": ApacheKafkaServer}


def server_kind() -> type[Server]:
    name = os.environ.get("OTTLA_TEST_SERVER", "ottla")
    if name not in KINDS:
        raise ValueError(f"OTTLA_TEST_SERVER={name}: expected one of {', '.join(KINDS)}")
    return KINDS[name]


def make_server(home: Path, overrides: Mapping[str, str] | None = None) -> Server:
    return server_kind()(home, overrides)
