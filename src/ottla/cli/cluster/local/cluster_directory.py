"""The directory of a local cluster: what `ottla cluster up` makes once, and everything later reads.

The files are those that an operator would write: a server.properties for each node, storage formatted with `ottla
storage format`. Whoever edits one of them, or starts a node from it by hand, gets what they expect. The properties are
written first and cluster.json after them, all of it before anything is formatted; formatting leaves alone what is
formatted. So an interrupted set-up is finished by the next one.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from ottla.cli.cluster.local import node_processes
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.config.cluster_layout import CLUSTER_FILE, ClusterIdentity, NodeLayout, lay_out, new_identity
from ottla.config.properties_file import load_properties
from ottla.config.values import ConfigError

# How far above the port for clients a node's port for controllers is.
CONTROLLER_PORT_DISTANCE: Final = 100
_PORT_MAX: Final = 65_535
# What makes a node this one and no other.
_OWN: Final = ("process.roles", "node.id", "listeners", "log.dirs", "log.dir", "metadata.log.dir")


def exists(root: Path) -> bool:
    return (root / CLUSTER_FILE).exists()


def create(root: Path, count: int, listen: str, overrides: Mapping[str, str]) -> None:
    """Writes the settings of a new cluster, unless somebody else has one of its ports."""
    host, first = _first_address(listen, count)
    for name in overrides:
        if name in _OWN:
            raise UsageError(f"--override {name}: it differs from node to node; edit the files in {root} instead.")
    controller_ports = [first + CONTROLLER_PORT_DISTANCE + index for index in range(count)]
    layouts = lay_out(root.absolute(), host, range(first, first + count), controller_ports, overrides)
    # Before anything is written: another port can be asked for as if this had not been.
    node_processes.refuse_taken_ports(layouts, "End it, or choose another first port: --listen HOST:PORT.")
    root.mkdir(parents=True, exist_ok=True)
    for node in layouts:
        node.directory.mkdir(exist_ok=True)
        node.properties_file.write_text(node.properties())
    # Last, because it says that the settings are complete.
    (root / CLUSTER_FILE).write_text(new_identity(host, controller_ports).to_json())


def move(nodes: Sequence[NodeLayout], listen: str) -> tuple[NodeLayout, ...]:
    """Gives the nodes other ports for clients, in their files; the ports of controllers are part of the quorum."""
    host, first = _first_address(listen, len(nodes))
    moved = []
    for port, node in enumerate(nodes, first):
        _, *others = node.settings["listeners"].split(",")
        settings = {**node.settings, "listeners": ",".join((f"PLAINTEXT://{host}:{port}", *others))}
        moved.append(replace(node, settings=settings))
    changed = [node for node, old in zip(moved, nodes, strict=True) if node.client_address != old.client_address]
    node_processes.refuse_taken_ports(changed, "End it, or choose another first port: --listen HOST:PORT.")
    for node in changed:
        _replace_setting(node.properties_file, "listeners", node.settings["listeners"])
    return tuple(moved)


def _replace_setting(path: Path, name: str, value: str) -> None:
    """The rest of the file is left as it is, with whatever its owner has written there."""
    lines = path.read_text().splitlines()
    kept = [f"{name}={value}" if line.partition("=")[0].strip() == name else line for line in lines]
    path.write_text("\n".join(kept) + "\n")


def _first_address(listen: str, count: int) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    first = int(port)
    if first + CONTROLLER_PORT_DISTANCE + count > _PORT_MAX or count > CONTROLLER_PORT_DISTANCE:
        raise UsageError(
            f"{count} nodes from port {first} on do not fit: their controllers listen {CONTROLLER_PORT_DISTANCE} ports "
            "higher. Choose a lower port or fewer nodes."
        )
    return host, first


def read(root: Path) -> tuple[ClusterIdentity, tuple[NodeLayout, ...]]:
    """The cluster in a directory, its nodes by id."""
    if not exists(root):
        raise CommandError(
            f"{root} holds no cluster", ExitCode.NOT_FOUND, "`ottla cluster up` makes one; --data names its directory."
        )
    try:
        identity = ClusterIdentity.of_json((root / CLUSTER_FILE).read_text())
        nodes = [
            NodeLayout(int(settings["node.id"]), path.parent.absolute(), settings)
            for path in root.glob("node-*/server.properties")
            for settings in [load_properties(path)]
        ]
    except (ConfigError, KeyError, ValueError) as error:
        raise CommandError(f"{root} does not hold a cluster as `ottla cluster up` makes it: {error}") from error
    return identity, tuple(sorted(nodes, key=lambda node: node.node_id))


def delete(root: Path, nodes: Sequence[NodeLayout]) -> None:
    """Deletes what `create` and the nodes made; whatever else is in the directory stays, and then so does it."""
    for node in nodes:
        shutil.rmtree(node.directory)
    (root / CLUSTER_FILE).unlink()
    if not any(root.iterdir()):
        root.rmdir()


def format_nodes(identity: ClusterIdentity, nodes: Sequence[NodeLayout]) -> None:
    """Formats the storage of the nodes that have none, as a command each, side by side."""
    blank = [node for node in nodes if not (Path(node.settings["log.dirs"]) / "meta.properties").exists()]
    for node in blank:
        _refuse_lost_controller(identity, node)
    running = {
        node: subprocess.Popen(
            [sys.executable, "-m", "ottla", *node.format_arguments(identity)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for node in blank
    }
    for node, process in running.items():
        _, said = process.communicate()
        if process.returncode != 0:
            raise CommandError(f"The storage of node {node.node_id} cannot be formatted: {said.strip()}")


def _refuse_lost_controller(identity: ClusterIdentity, node: NodeLayout) -> None:
    """A controller that ran before has voted, and has acknowledged metadata. Formatted anew it would not know of that,
    and with another node that was down could decide that it never was."""
    if node.is_controller and node.log_file.exists():
        raise CommandError(
            f"Node {node.node_id} is a controller and has lost its data: {node.settings['log.dirs']} is not formatted, "
            f"though it ran before",
            ExitCode.CONFLICT,
            "Bring its data back. If they are lost, and only if all other nodes are up and have an active controller: "
            f"`ottla {' '.join(node.format_arguments(identity))}`.",
        )
