"""Several controllers on this machine: their settings, and their storage, formatted as an operator would."""

from pathlib import Path

from harness.ports import free_port
from ottla.broker.disks import storage_format
from ottla.config.broker_config import BrokerConfig
from ottla.protocol.uuids import random_uuid, uuid_to_text

CLUSTER_ID = "dGVzdC1jbHVzdGVyLTAwMQ"


class Controllers:
    """The nodes 1 to `count`, of which nothing runs yet."""

    def __init__(self, root: Path, *, is_static: bool, count: int = 3, settings: dict[str, str] | None = None) -> None:
        """Static voters are in the settings (kraft.version 0), the others in the formatted storage (1)."""
        self.ports = {node_id: free_port() for node_id in range(1, count + 1)}
        self.root = root
        addresses = {node_id: f"127.0.0.1:{port}" for node_id, port in self.ports.items()}
        self.bootstrap = ",".join(addresses.values())
        if is_static:
            named = {"controller.quorum.voters": ",".join(f"{key}@{address}" for key, address in addresses.items())}
        else:
            named = {"controller.quorum.bootstrap.servers": self.bootstrap}
        self.settings = {
            node_id: {
                "process.roles": "controller",
                "node.id": str(node_id),
                "listeners": f"CONTROLLER://{address}",
                "controller.listener.names": "CONTROLLER",
                "log.dirs": str(root / f"node-{node_id}"),
            }
            | named
            | (settings or {})
            for node_id, address in addresses.items()
        }
        initial = ",".join(f"{key}@{address}:{uuid_to_text(random_uuid())}" for key, address in addresses.items())
        self.initial_controllers = None if is_static else initial

    def config(self, node_id: int) -> BrokerConfig:
        return BrokerConfig(self.settings[node_id])

    def properties(self, node_id: int) -> Path:
        """The settings as a file."""
        path = self.root / f"node-{node_id}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in self.settings[node_id].items()))
        return path

    def format(self, node_id: int, cluster_id: str = CLUSTER_ID) -> None:
        formatting = storage_format.prepare(
            self.config(node_id),
            cluster_id=cluster_id,
            levels={},
            ignores_formatted=False,
            initial_controllers=self.initial_controllers,
        )
        assert formatting is not None
        for directory in formatting.directories:
            directory.path.mkdir(parents=True, exist_ok=True)
            storage_format.write(formatting, directory)

    def format_all(self) -> None:
        for node_id in self.ports:
            self.format(node_id)
