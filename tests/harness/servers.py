"""A server under test: a node of Ottla, or Apache Kafka itself as the control.

OTTLA_TEST_SERVER=kafka runs every test that uses these fixtures against Apache Kafka: a test that fails there is
wrong.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.java import java
from harness.ports import free_port
from harness.server_process import ServerProcess

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


class Server(ServerProcess):
    def __init__(self, home: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(home)
        self.data = home / "data"
        given = TEST_SETTINGS | dict(overrides or {})
        # A test knows the settings before the port is chosen.
        self.settings = {name: value.replace("{bootstrap}", self.bootstrap) for name, value in given.items()}

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _serves(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        try:
            metadata = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=5)
        except KafkaException:
            return False
        return bool(metadata.brokers)

    def partition_directory(self, topic: str, partition: int) -> Path:
        return next(self.data.rglob(f"{topic}-{partition}"))


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
