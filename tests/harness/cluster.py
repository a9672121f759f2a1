"""A cluster of processes on this machine: brokers under controllers, or nodes that are both.

Every node has its own properties file and directory, formatted with the command line as an operator would. A node that
was killed or stopped finds the same directory and ports when it is started again.
"""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.java import java
from harness.ports import free_port
from harness.servers import CLUSTER_ID, Server
from harness.waiting import eventually
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.client.errors import ClientError
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterResponse
from ottla.protocol.uuids import random_uuid, uuid_to_text

START_TIMEOUT_S = 90.0
FIRST_BROKER_ID = 101


class NodeProcess(Server):
    """One node; `port` is where clients reach it, or other nodes if it is a controller alone."""

    def __init__(self, home: Path, settings: Mapping[str, str], port: int, initial_controllers: str | None) -> None:
        home.mkdir(parents=True)
        super().__init__(home)
        self.port = port
        self.settings = dict(settings)
        self.properties = home / "server.properties"
        self._initial_controllers = initial_controllers

    @property
    def is_broker(self) -> bool:
        return "broker" in self.settings["process.roles"]

    def format(self) -> None:
        self.write_properties()
        subprocess.run(self._format_command(), check=True, capture_output=True)

    def write_properties(self) -> None:
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))

    def _format_options(self) -> list[str]:
        is_controller = "controller" in self.settings["process.roles"]
        voters = ["--initial-controllers", self._initial_controllers or ""] if is_controller else []
        options = voters if self._initial_controllers else []
        return ["format", "-t", CLUSTER_ID, "-c", str(self.properties), *options]

    def _format_command(self) -> list[str]:
        return [sys.executable, "-m", "ottla.cli.main", "storage", *self._format_options()]

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "ottla.cli.main", "server", str(self.properties)]

    def _serves(self) -> bool:
        if self.is_broker:
            return super()._serves()
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def until_up(self) -> None:
        """Returns when a launched node serves."""
        eventually(self._answers, timeout_s=START_TIMEOUT_S)

    def brokers(self) -> set[int]:
        """The brokers that this one knows and that are not fenced; none while it does not answer."""

        async def ask() -> set[int]:
            try:
                connection = await open_connection(Address("127.0.0.1", self.port), client_id="test")
                response = await connection.request(DescribeClusterRequest(), DescribeClusterResponse)
            except ClientError:
                return set()
            await connection.close()
            return {broker.broker_id for broker in response.brokers}

        return asyncio.run(ask())


class ApacheNodeProcess(NodeProcess):
    """A node of Apache Kafka in the same cluster."""

    def _format_command(self) -> list[str]:
        # What Ottla does not serve must not be in force.
        features = [part for name in ("group", "share", "streams") for part in ("--feature", f"{name}.version=0")]
        return java("kafka.tools.StorageTool", *self._format_options(), *features)

    def _command(self) -> list[str]:
        return java("kafka.Kafka", str(self.properties), options=("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",))


class Cluster:
    """Nodes 1 to `controllers`, and brokers from 101 on. Without controllers, the brokers are both."""

    apache_kind: type[ApacheNodeProcess] = ApacheNodeProcess

    def __init__(
        self,
        root: Path,
        *,
        brokers: int = 3,
        controllers: int = 0,
        is_static: bool = False,
        settings: Mapping[str, str] | None = None,
        apache_ids: Collection[int] = (),
        first_broker_id: int = FIRST_BROKER_ID,
    ) -> None:
        """Static voters are in the settings (kraft.version 0), the others in the formatted storage (1)."""
        broker_ids = range(first_broker_id, first_broker_id + brokers)
        controller_ids = range(1, controllers + 1) if controllers else broker_ids
        addresses = {node_id: f"127.0.0.1:{free_port()}" for node_id in controller_ids}
        voters = ",".join(f"{node_id}@{address}" for node_id, address in addresses.items())
        named = {"controller.quorum.bootstrap.servers": ",".join(addresses.values())}
        common = {
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        common |= {"controller.quorum.voters": voters} if is_static else named
        common |= settings or {}
        directories = {node_id: uuid_to_text(random_uuid()) for node_id in controller_ids}
        initial = ",".join(f"{node_id}@{addresses[node_id]}:{directories[node_id]}" for node_id in controller_ids)
        self.initial_controllers = None if is_static else initial
        self.nodes: dict[int, NodeProcess] = {}
        for node_id in sorted({*controller_ids, *broker_ids}):
            own: dict[str, str] = {"node.id": str(node_id), "log.dirs": str(root / f"node-{node_id}" / "data")}
            listeners, roles = [], []
            port = 0
            if node_id in controller_ids:
                roles.append("controller")
                listeners.append(f"CONTROLLER://{addresses[node_id]}")
                port = int(addresses[node_id].rpartition(":")[2])
            if node_id in broker_ids:
                port = free_port()
                roles.append("broker")
                listeners.append(f"PLAINTEXT://127.0.0.1:{port}")
            own |= {"process.roles": ",".join(roles), "listeners": ",".join(listeners)}
            kind = self.apache_kind if node_id in apache_ids else NodeProcess
            self.nodes[node_id] = kind(root / f"node-{node_id}", own | common, port, self.initial_controllers)

    @property
    def brokers(self) -> dict[int, NodeProcess]:
        return {node_id: node for node_id, node in self.nodes.items() if node.is_broker}

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.brokers.values())

    def start(self) -> None:
        """Formats and starts every node, and returns when all brokers know each other."""
        for node in self.nodes.values():
            node.format()
            node.launch()
        for node in self.nodes.values():
            node.until_up()
        self.until_known(self.brokers.keys())

    def until_known(self, broker_ids: Collection[int]) -> None:
        """Returns when these brokers serve, and each of them knows that exactly these do."""
        for node_id in broker_ids:
            eventually(self.nodes[node_id].brokers, lambda known: known == set(broker_ids), timeout_s=START_TIMEOUT_S)

    def close(self) -> None:
        """Kills what still runs; a test that wants a clean end stops the nodes itself."""
        for node in self.nodes.values():
            if node.is_running:
                node.kill()


@contextmanager
def running_cluster(cluster: Cluster) -> Iterator[Cluster]:
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
