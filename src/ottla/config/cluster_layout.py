"""The nodes of a cluster on one host: who they are, where they listen, and what their settings are.

    ROOT/cluster.json            the cluster's id and its first controllers, as they are formatted
    ROOT/node-1/server.properties, node.log, data/

Ports are in a row, those of clients and those of controllers. The first nodes, up to three, are controllers as well as
brokers: a quorum of three survives the loss of one, and more voters would make every decision slower. Topics have
three replicas if there are as many nodes, and a record is acknowledged when two of them have it; with fewer nodes they
have as many as there are, and one is enough.

Directories of voters have ids before they exist: each controller is formatted with the ids of all of them. They are
kept in cluster.json, so that a set-up that was interrupted goes on with the same ones.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.config.values import ConfigError
from ottla.protocol.uuids import random_uuid, uuid_to_text

CLUSTER_FILE: Final = "cluster.json"
VOTERS_MAX: Final = 3
_REPLICAS_MAX: Final = 3
_CONTROLLER: Final = "CONTROLLER://"


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """What all nodes of a cluster are formatted with."""

    cluster_id: str
    # ID@HOST:PORT:DIRECTORY-ID, one for each voter.
    initial_controllers: str

    def to_json(self) -> str:
        shown = {"cluster_id": self.cluster_id, "initial_controllers": self.initial_controllers}
        return json.dumps(shown, indent=2) + "\n"

    @staticmethod
    def of_json(text: str) -> "ClusterIdentity":
        """ConfigError if the text does not tell it."""
        try:
            read = json.loads(text)
            return ClusterIdentity(str(read["cluster_id"]), str(read["initial_controllers"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{CLUSTER_FILE} does not name the cluster: {error}") from None


@dataclass(frozen=True, slots=True, eq=False)
class NodeLayout:
    """One node: its directory and its settings."""

    node_id: int
    directory: Path
    settings: Mapping[str, str]

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_file(self) -> Path:
        return self.directory / "node.log"

    @property
    def is_controller(self) -> bool:
        return "controller" in self.settings["process.roles"]

    @property
    def client_address(self) -> str:
        """HOST:PORT for clients."""
        return self.settings["listeners"].split(",")[0].removeprefix("PLAINTEXT://")

    @property
    def controller_address(self) -> str | None:
        """HOST:PORT for controllers; None if it is none."""
        entries = (entry.strip() for entry in self.settings["listeners"].split(","))
        return next((entry.removeprefix(_CONTROLLER) for entry in entries if entry.startswith(_CONTROLLER)), None)

    def properties(self) -> str:
        """The text of its properties file."""
        return "".join(f"{name}={value}\n" for name, value in self.settings.items())

    def format_arguments(self, identity: ClusterIdentity) -> list[str]:
        """The words after `ottla` that format its storage, unless that is formatted already."""
        words = ["storage", "format", "-g", "-c", str(self.properties_file), "-t", identity.cluster_id]
        return [*words, "--initial-controllers", identity.initial_controllers] if self.is_controller else words


def new_identity(host: str, controller_ports: Sequence[int]) -> ClusterIdentity:
    """A new cluster, whose voters are the nodes 1, 2, ... at these ports."""
    voters = (
        f"{node_id}@{host}:{port}:{uuid_to_text(random_uuid())}"
        for node_id, port in enumerate(controller_ports[:VOTERS_MAX], 1)
    )
    return ClusterIdentity(uuid_to_text(random_uuid()), ",".join(voters))


def lay_out(
    root: Path,
    host: str,
    client_ports: Sequence[int],
    controller_ports: Sequence[int],
    overrides: Mapping[str, str] | None = None,
) -> tuple[NodeLayout, ...]:
    """The nodes 1, 2, ..., one for each client port; the overrides hold for all of them."""
    voters = controller_ports[:VOTERS_MAX]
    assert len(voters) == min(len(client_ports), VOTERS_MAX), "each of the first nodes is a controller"
    replicas = min(len(client_ports), _REPLICAS_MAX)
    in_sync_min = max(1, replicas - 1)
    common = {
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": ",".join(f"{host}:{port}" for port in voters),
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync_min),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync_min),
        "group.initial.rebalance.delay.ms": "0",
    }
    nodes = []
    for node_id, port in enumerate(client_ports, 1):
        directory = root / f"node-{node_id}"
        listeners = [f"PLAINTEXT://{host}:{port}"]
        roles = ["broker"]
        if node_id <= len(voters):
            listeners.append(f"{_CONTROLLER}{host}:{voters[node_id - 1]}")
            roles.append("controller")
        own = {
            "process.roles": ",".join(roles),
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "log.dirs": str(directory / "data"),
        }
        nodes.append(NodeLayout(node_id, directory, own | common | dict(overrides or {})))
    return tuple(nodes)
