"""The static configuration of one node: Kafka's names from a file or the command line, read once at start.

`BrokerConfig` is immutable. Dynamic overrides never change it; `ottla.config.dynamic` lays them over it. A wrong value
raises ConfigError; an unknown name becomes a warning, because files outlive versions.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from ottla.config import consistency, unknown_settings
from ottla.config.broker_configs import BROKER_CONFIGS, broker_key
from ottla.config.definition import REQUIRED
from ottla.config.listeners import Listener, check_distinct_ports, parse_listeners, parse_protocol_map
from ottla.config.values import ConfigError, ConfigValue

BROKER_ROLE: Final = "broker"
CONTROLLER_ROLE: Final = "controller"
_LONE_NODE_ID: Final = "1"
_EVERYWHERE: Final = ("", "0.0.0.0", "::")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_DEFAULTS: Final[dict[str, ConfigValue]] = {
    key.name: None if key.default is REQUIRED else BROKER_CONFIGS.default(key.name) for key in BROKER_CONFIGS
}


class BrokerConfig:
    """Typed access to a node's static configuration."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Reads and checks everything; ConfigError names the first mistake."""
        warnings: list[str] = []
        static = _with_node_id(properties)
        if "process.roles" not in static:
            _assume_lone_node(static, warnings)
        if CONTROLLER_ROLE in static["process.roles"]:
            # Kafka insists on the name of a listener that a lone node never opens.
            static.setdefault("controller.listener.names", "CONTROLLER")
        self._values = dict(_DEFAULTS)
        for name, text in static.items():
            key = broker_key(name)
            if key is not None and key.name in BROKER_CONFIGS:
                self._values[name] = key.parse(text)
        warnings += unknown_settings.warnings(static)
        for key in BROKER_CONFIGS:
            if key.default is REQUIRED and key.name not in static:
                BROKER_CONFIGS.default(key.name)
        #: The texts of the file or the command line, by name: DescribeConfigs calls them the static broker config.
        self.static_values: Mapping[str, str] = static
        #: Lines for the operator about what was ignored or assumed.
        self.warnings: tuple[str, ...] = tuple(warnings)
        consistency.check(self)

    def get(self, name: str) -> ConfigValue:
        """The typed value of a key, its default included."""
        return self._values[name]

    def get_int(self, name: str) -> int:
        value = self._values[name]
        assert isinstance(value, int), f"{name} is not an integer"
        return value

    def get_listener_int(self, listener: str, name: str) -> int:
        """The value for a listener: its own setting, or the general one."""
        own = f"listener.name.{listener.lower()}.{name}"
        return self.get_int(own if own in self._values else name)

    def get_bool(self, name: str) -> bool:
        value = self._values[name]
        assert isinstance(value, bool), f"{name} is not a boolean"
        return value

    def get_float(self, name: str) -> float:
        value = self._values[name]
        assert isinstance(value, float), f"{name} is not a double"
        return value

    def get_str(self, name: str) -> str | None:
        value = self._values[name]
        assert value is None or isinstance(value, str), f"{name} is not a string"
        return value

    def get_list(self, name: str) -> tuple[str, ...]:
        """The elements of a list; an unset list has none."""
        value = self._values[name]
        assert value is None or isinstance(value, tuple), f"{name} holds no list"
        return value or ()

    @cached_property
    def node_id(self) -> int:
        return self.get_int("node.id")

    @cached_property
    def roles(self) -> tuple[str, ...]:
        return self.get_list("process.roles")

    @property
    def is_broker(self) -> bool:
        return BROKER_ROLE in self.roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER_ROLE in self.roles

    @property
    def rack(self) -> str | None:
        return self.get_str("broker.rack")

    @cached_property
    def log_dirs(self) -> tuple[Path, ...]:
        """Where partitions live, in the order given."""
        return tuple(Path(text) for text in self.get_list("log.dirs") or self.get_list("log.dir"))

    @cached_property
    def metadata_log_dir(self) -> Path:
        """Where the metadata log lives: its own directory or the first log directory."""
        text = self.get_str("metadata.log.dir")
        return Path(text) if text else self.log_dirs[0]

    @cached_property
    def security_protocols(self) -> Mapping[str, str]:
        """Security protocol by listener name. Controller listeners need no entry while nothing else is secured."""
        protocols = parse_protocol_map(self.get_str("listener.security.protocol.map") or "")
        secured = any(entry.upper().startswith(("SSL://", "SASL_")) for entry in self.get_list("listeners"))
        if "listener.security.protocol.map" not in self.static_values and not secured:
            for name in self.controller_listener_names:
                protocols.setdefault(name, "PLAINTEXT")
        return protocols

    @cached_property
    def controller_listener_names(self) -> tuple[str, ...]:
        return tuple(name.upper() for name in self.get_list("controller.listener.names"))

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        """Every address to listen on, controller listeners included."""
        listeners = parse_listeners("listeners", self.get_list("listeners"), self.security_protocols)
        check_distinct_ports(listeners)
        return listeners

    @cached_property
    def broker_listeners(self) -> tuple[Listener, ...]:
        """The addresses that serve clients and other brokers."""
        return tuple(listener for listener in self.listeners if listener.name not in self.controller_listener_names)

    @cached_property
    def controller_listeners(self) -> tuple[Listener, ...]:
        return tuple(listener for listener in self.listeners if listener.name in self.controller_listener_names)

    @cached_property
    def advertised_listeners(self) -> tuple[Listener, ...]:
        """The address that clients get for each broker listener. One without a host is advertised under this host's
        name.

        A port of 0 stays 0: only the bound socket knows the port that the system chose.
        """
        import socket  # costs more than all of the configuration, and most nodes name their host

        given = parse_listeners("advertised.listeners", self.get_list("advertised.listeners"), self.security_protocols)
        chosen = given or self.broker_listeners
        return tuple(
            listener
            if listener.host
            else Listener(listener.name, socket.getfqdn(), listener.port, listener.security_protocol)
            for listener in chosen
            if listener.name not in self.controller_listener_names
        )

    @cached_property
    def advertised_controller_listeners(self) -> tuple[Listener, ...]:
        """The address that other nodes get for each controller listener, as `advertised_listeners` has it."""
        import socket  # as above

        given = parse_listeners("advertised.listeners", self.get_list("advertised.listeners"), self.security_protocols)
        by_name = {listener.name: listener for listener in given}
        chosen = (by_name.get(listener.name, listener) for listener in self.controller_listeners)
        return tuple(
            Listener(listener.name, socket.getfqdn(), listener.port, listener.security_protocol)
            if listener.host in _EVERYWHERE
            else listener
            for listener in chosen
        )

    @cached_property
    def inter_broker_listener_name(self) -> str:
        name = self.get_str("inter.broker.listener.name")
        return (name or self.get_str("security.inter.broker.protocol") or "PLAINTEXT").upper()

    @cached_property
    def quorum_voters(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of each fixed voter by node id; empty when the quorum's members may change."""
        voters: dict[int, tuple[str, int]] = {}
        for entry in self.get_list("controller.quorum.voters"):
            voter_id, _, address = entry.partition("@")
            host, _, port = address.rpartition(":")
            voters[int(voter_id)] = (host.strip("[]"), int(port))
        return voters

    @cached_property
    def quorum_bootstrap_servers(self) -> tuple[tuple[str, int], ...]:
        servers = (entry.rpartition(":") for entry in self.get_list("controller.quorum.bootstrap.servers"))
        return tuple((host.strip("[]"), int(port)) for host, _, port in servers)

    @property
    def is_lone_voter(self) -> bool:
        """Whether this node alone is the quorum, which then needs no controller socket."""
        if not self.is_controller:
            return False
        return set(self.quorum_voters) == {self.node_id} if self.quorum_voters else not self.quorum_bootstrap_servers

    @property
    def is_cluster_of_one(self) -> bool:
        """Whether this broker is its own controller and listens for no other: no broker can join it."""
        return self.is_broker and self.is_lone_voter and not self.controller_listeners

    @property
    def is_founder(self) -> bool:
        """Whether this node can only be the first of its cluster, because it names no controller but itself."""
        if not self.is_controller:
            return False
        if self.quorum_voters:
            return set(self.quorum_voters) == {self.node_id}
        own = {(one.host, one.port) for one in (*self.controller_listeners, *self.advertised_controller_listeners)}
        own |= {(host, one.port) for one in self.controller_listeners for host in _LOOPBACK}
        return all(address in own for address in self.quorum_bootstrap_servers)

    @property
    def log_retention_ms(self) -> int:
        """Retention from the finest unit that is set; -1 keeps records for ever."""
        for name, factor in (
            ("log.retention.ms", 1),
            ("log.retention.minutes", 60_000),
            ("log.retention.hours", 3_600_000),
        ):
            value = self._values[name]
            if value is not None:
                return max(-1, self.get_int(name) * factor)
        raise AssertionError("log.retention.hours has a default")


def plaintext_listener(listen: str) -> str:
    """The `listeners` entry for a HOST:PORT of the command line."""
    host, separator, port = listen.rpartition(":")
    if not separator or not port.isdecimal():
        raise ConfigError(f"Invalid listen address {listen}: write HOST:PORT, as in 127.0.0.1:9092.")
    # Nobody can connect to a wildcard: without a host, this host's name is advertised.
    return f"PLAINTEXT://{'' if host in ('0.0.0.0', '*') else host}:{port}"


def single_node_defaults(data_dir: Path, listen: str) -> dict[str, str]:
    """Properties of a node that is a cluster by itself, for a start without any file.

    They are Kafka's defaults but for the internal topics, which cannot have more replicas than there are nodes, and for
    the pause before a group's first rebalance, which waits for members that a lone developer does not have.
    """
    return {
        "process.roles": f"{BROKER_ROLE},{CONTROLLER_ROLE}",
        "node.id": _LONE_NODE_ID,
        "listeners": plaintext_listener(listen),
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data_dir),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }


def _with_node_id(properties: Mapping[str, str]) -> dict[str, str]:
    """`broker.id` and `node.id` are one setting under two names: each is filled from the other."""
    static = dict(properties)
    node_id, broker_id = static.get("node.id"), static.get("broker.id")
    if node_id is None and broker_id is not None:
        static["node.id"] = broker_id
    elif broker_id is None and node_id is not None:
        static["broker.id"] = node_id
    return static


def _assume_lone_node(static: dict[str, str], warnings: list[str]) -> None:
    # Files from before KRaft name no role. They describe a broker, and a lone broker needs a controller.
    static["process.roles"] = f"{BROKER_ROLE},{CONTROLLER_ROLE}"
    warnings.append("process.roles is not set: this node runs as broker and controller.")
    if "node.id" not in static:
        static["node.id"] = static["broker.id"] = _LONE_NODE_ID
        warnings.append(f"node.id is not set: this node has the id {_LONE_NODE_ID}.")
