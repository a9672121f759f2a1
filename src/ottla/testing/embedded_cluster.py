"""A cluster for tests: nodes in child processes, on free ports, with data that goes away.

    with EmbeddedCluster() as cluster:
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})

    with EmbeddedCluster(brokers=3) as cluster:
        cluster.kill(node=2)
        cluster.partition(3)

Ports and data stay the same from `start` to `stop`, through `kill` and `restart`. The ports are chosen before the nodes
start, because nodes must know each other's. Sockets that are bound and do not listen hold them, so that nothing else
gets one; Linux lets a node listen beside such a socket, elsewhere the ports are let go of when the nodes start.

Several nodes talk to each other over a listener of their own, INTERNAL, so that the connections of clients can be told
from those of nodes: a partition is about either. The processes of the nodes cut their links themselves, without root
and without proxies (see `ottla.testing.cuttable_links`).
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.config.cluster_layout import VOTERS_MAX, NodeLayout, lay_out, new_identity
from ottla.config.unknown_settings import advice
from ottla.protocol.written_numbers import parse_port
from ottla.testing.embedded_node import ClusterError, EmbeddedNode
from ottla.testing.network_cuts import CLIENTS, NetworkCuts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

HOST: Final = "127.0.0.1"

# What differs from a server: no waiting for more members before a group's first rebalance, and groups in one partition
# instead of fifty, because making fifty logs is most of the time that a first consumer waits.
CONFIG: Final = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
# The same for transactions, of which every node of a larger cluster would make fifty logs.
_SEVERAL_CONFIG: Final = {"transaction.state.log.num.partitions": "3"}

_INTERNAL: Final = "INTERNAL"


class EmbeddedCluster:
    """A cluster of one broker or several. Use it as `with`, or call `start` and `stop`.

    `config` has broker settings by Kafka's names, stronger than those of `CONFIG`; a name that is none raises. With
    `port` the (first) node listens there, and not on a port of its own choice. Nodes have the ids 1, 2, ...; the first
    three are controllers, too. Topics get three replicas if there are three nodes.
    """

    def __init__(self, brokers: int = 1, *, config: Mapping[str, object] | None = None, port: int = 0) -> None:
        if brokers < 1:
            raise ValueError(f"brokers={brokers}: a cluster has at least one broker.")
        self._broker_count = brokers
        self._wanted_port = parse_port(str(port))
        given = {name: _text(value) for name, value in (config or {}).items()}
        for name, hint in advice(given).items():
            # A server warns and goes on, because its files outlive versions; a test would test something else.
            raise ValueError(f"config={{{name!r}: ...}}: there is no setting {name}: {hint}")
        self._config = CONFIG | (_SEVERAL_CONFIG if brokers > 1 else {}) | given
        self._home: Path | None = None
        self._nodes: dict[int, EmbeddedNode] = {}
        self._addresses: list[str] = []
        self._held_ports: list[socket.socket] = []
        self._cuts = NetworkCuts()

    def __enter__(self) -> EmbeddedCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to, as HOST:PORT, joined by commas."""
        if not self._addresses:
            raise ClusterError("The cluster has no address before it is started: call start(), or use it as `with`.")
        return ",".join(self._addresses)

    def get_bootstrap_server(self) -> str:
        """The same, under the name that testcontainers gives it."""
        return self.bootstrap_servers

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ids of the nodes, whether they run or not; none before the start."""
        return tuple(self._nodes)

    @property
    def is_running(self) -> bool:
        """Whether every node's process is there."""
        return bool(self._nodes) and all(node.is_running for node in self._nodes.values())

    @property
    def data_directory(self) -> Path:
        """Where a lone node keeps its logs, and where the directories node-1, node-2, ... of several are."""
        return self._existing_home() / "data"

    def log(self, node: int = 1) -> str:
        """What a node wrote to its log, from `start` to `stop`."""
        return self._node(node).log()

    def start(self) -> EmbeddedCluster:
        """Returns when clients are served; after `kill`, at the same addresses and with the same data."""
        if self.is_running:
            raise ClusterError(f"The cluster is running already, at {self.bootstrap_servers}.")
        is_new = self._home is None
        try:
            if is_new:
                self._prepare()
            self._start([node for node in self._nodes.values() if not node.is_running])
        except BaseException:
            if is_new:
                self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends the nodes and removes their data; nothing happens when there are none."""
        # Data that is thrown away needs no orderly end.
        for node in self._nodes.values():
            node.end(signal.SIGKILL)
        self._nodes, self._addresses = {}, []
        self._cuts.heal()
        self._release_ports()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None

    def kill(self, how: signal.Signals = signal.SIGKILL, *, node: int | None = None) -> None:
        """Ends a node, or all of them, and keeps ports and data: a crash, or with SIGTERM an orderly shutdown."""
        if not isinstance(how, signal.Signals):
            raise ValueError(
                f"kill({how!r}): name a node with kill(node={how!r}), a signal as in kill(signal.SIGTERM)."
            )
        running = [one for one in self._chosen(node) if one.is_running]
        if not running:
            raise ClusterError("The cluster is not running: there is nothing to kill.")
        for one in running:
            one.end(how)

    def pause(self, node: int) -> None:
        """Freezes a node's process: its connections stay open, and nothing on them is answered."""
        self._running(node).send(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        """Lets a frozen node go on."""
        self._running(node).send(signal.SIGCONT)

    def restart(self, node: int | None = None) -> None:
        """Starts a node, or all of them, again at the same address with the same data; one that runs is shut down
        first."""
        if self._home is None:
            raise ClusterError("The cluster was never started, or was stopped: call start().")
        chosen = self._chosen(node)
        for one in chosen:
            one.end(signal.SIGTERM)
        self._start(chosen)

    def partition(
        self,
        nodes: int | Collection[int],
        others: int | Collection[int] | None = None,
        *,
        clients: bool = False,
        one_way: bool = False,
        reset: bool = False,
    ) -> None:
        """Cuts nodes off from others, by default from all other nodes; with `clients`, from clients as well.

        Packets vanish: connections stay open, and nobody hears anything, until `heal`. With `one_way`, only what
        `nodes` send is lost. With `reset`, connections end at once, and new ones are refused. Cuts add up; a node that
        is restarted is still cut off.
        """
        if one_way and reset:
            raise ValueError("one_way=True, reset=True: a connection that is reset ends in both directions.")
        cut = self._ids(nodes)
        rest = [node for node in self._nodes if node not in cut] if others is None else self._ids(others)
        if both := sorted(set(cut) & set(rest)):
            raise ValueError(f"Node {both[0]} cannot be cut off from itself.")
        if not clients and not (cut and rest):
            raise ValueError("There is nobody to cut off: name nodes on either side, or clients=True.")
        self._cuts.cut(cut, rest, clients=clients, one_way=one_way, reset=reset)
        self._tell_cuts()

    def heal(self) -> None:
        """Ends every partition: what a silent one has held arrives."""
        self._cuts.heal()
        self._tell_cuts()

    # -- the nodes ----------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._home = home = Path(tempfile.mkdtemp(prefix="ottla-"))
        ports = [self._hold_port(self._wanted_port), *(self._hold_port() for _ in range(1, self._broker_count))]
        self._addresses = [f"{HOST}:{port}" for port in ports]
        if self._broker_count == 1:
            overrides = [part for name, value in self._config.items() for part in ("--override", f"{name}={value}")]
            arguments = ["server", "--data", str(home / "data"), "--listen", self._addresses[0], *overrides]
            self._nodes = {1: EmbeddedNode(home, home / "node.log", arguments, {CLIENTS: ports})}
            return
        internal_ports = [self._hold_port() for _ in ports]
        controller_ports = [self._hold_port() for _ in ports[:VOTERS_MAX]]
        ports_of = {
            node: [ports[node - 1], internal_ports[node - 1], *controller_ports[node - 1 : node]]
            for node in range(1, len(ports) + 1)
        }
        identity = new_identity(HOST, controller_ports)
        for one in lay_out(home / "data", HOST, ports, controller_ports, self._config):
            layout = _with_internal_listener(one, internal_ports[one.node_id - 1])
            layout.directory.mkdir(parents=True)
            layout.properties_file.write_text(layout.properties())
            command = [sys.executable, "-P", "-m", "ottla", *layout.format_arguments(identity)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ClusterError(f"The storage of node {layout.node_id} cannot be formatted: {done.stderr.strip()}")
            arguments = ["server", str(layout.properties_file)]
            peers = {str(node): of_node for node, of_node in ports_of.items() if node != layout.node_id}
            links = {CLIENTS: [ports[layout.node_id - 1]], **peers}
            self._nodes[layout.node_id] = EmbeddedNode(home, layout.log_file, arguments, links)

    def _start(self, nodes: list[EmbeddedNode]) -> None:
        if sys.platform != "linux":
            # Elsewhere nobody can listen beside a socket that is bound.
            self._release_ports()
        for node in nodes:
            node.spawn()
        try:
            for node in nodes:
                node.wait_until_serving()
        except BaseException:
            for node in nodes:
                node.end(signal.SIGKILL)
            raise

    def _hold_port(self, wanted: int = 0) -> int:
        """A port that others, and the system, do not use while no node listens on it."""
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, wanted))
        except OSError:
            # The node will say who it meets there.
            held.close()
            return wanted
        self._held_ports.append(held)
        return int(held.getsockname()[1])

    def _release_ports(self) -> None:
        for held in self._held_ports:
            held.close()
        self._held_ports = []

    def _tell_cuts(self) -> None:
        for node_id, node in self._nodes.items():
            node.cut_links(self._cuts.table_of(node_id))

    def _ids(self, nodes: int | Collection[int]) -> list[int]:
        chosen = [nodes] if isinstance(nodes, int) else list(nodes)
        for node in chosen or [1]:
            self._node(node)
        return chosen

    def _chosen(self, node: int | None) -> list[EmbeddedNode]:
        return list(self._nodes.values()) if node is None else [self._node(node)]

    def _node(self, node: int) -> EmbeddedNode:
        if self._nodes and node not in self._nodes:
            raise ValueError(f"node={node}: the cluster has the nodes {', '.join(map(str, self._nodes))}.")
        if not self._nodes:
            raise ClusterError("The cluster has no nodes before it is started: call start(), or use it as `with`.")
        return self._nodes[node]

    def _running(self, node: int) -> EmbeddedNode:
        found = self._node(node)
        if not found.is_running:
            raise ClusterError(f"Node {node} is not running: restart(node={node}) starts it again.")
        return found

    def _existing_home(self) -> Path:
        if self._home is None:
            raise ClusterError("The cluster has no directory before it is started: call start(), or use it as `with`.")
        return self._home


def _with_internal_listener(layout: NodeLayout, port: int) -> NodeLayout:
    """A node whose peers do not come to the listener of its clients."""
    own = {
        "listeners": f"{layout.settings['listeners']},{_INTERNAL}://{HOST}:{port}",
        "inter.broker.listener.name": _INTERNAL,
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{_INTERNAL}:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    return replace(layout, settings={**layout.settings, **own})


def _text(value: object) -> str:
    """A setting as a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
