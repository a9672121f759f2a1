"""The processes of a local cluster: started apart from the terminal, found again by the file each was started with.

There is no file with process ids to go stale: a process that runs `ottla server` with a node's properties file is that
node, and nothing else is.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.server.processes import running_servers
from ottla.config.cluster_layout import NodeLayout

START_TIMEOUT_S: Final = 60.0
# A controlled shutdown may take half of this, and flushing the logs the rest.
END_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.05
_LOG_TAIL_LINES: Final = 5
_CONTROLLER_REMEDY: Final = (
    "End it: controllers know each other by these ports, which the formatted storage of each of them holds. If the "
    "cluster's data may go, `ottla cluster down --delete` and `ottla cluster up --listen HOST:PORT` make a new one."
)


def running_nodes(nodes: Sequence[NodeLayout]) -> dict[int, int]:
    """Process ids by node id."""
    by_file = {str(node.properties_file): node.node_id for node in nodes}
    found = {}
    for process in running_servers():
        node_id = by_file.get(process.arguments[0]) if process.arguments else None
        if node_id is not None:
            found[node_id] = process.pid
    return found


def refuse_taken_ports(nodes: Sequence[NodeLayout], remedy: str) -> None:
    """An error if another process has a port that one of these nodes needs; the remedy is about ports for clients."""
    for node in nodes:
        if _accepts(node.client_address):
            raise _taken(node, node.client_address, remedy)
        if node.controller_address is not None and _accepts(node.controller_address):
            raise _taken(node, node.controller_address, _CONTROLLER_REMEDY if node.directory.exists() else remedy)


def _taken(node: NodeLayout, address: str, remedy: str) -> CommandError:
    return CommandError(
        f"Node {node.node_id} cannot start: another process listens on {address}", ExitCode.CONFLICT, remedy
    )


def start(nodes: Sequence[NodeLayout], running: Sequence[NodeLayout] = ()) -> None:
    """Starts nodes side by side, and returns when clients can connect to each of them, and of those that run."""
    refuse_taken_ports(
        nodes, "End it, or give the nodes other ports while none of them runs: `ottla cluster up --listen HOST:PORT`."
    )
    processes: dict[NodeLayout, subprocess.Popen[bytes] | None] = {node: _spawn(node) for node in nodes}
    # They may be starting still, for a command that was interrupted.
    processes |= dict.fromkeys(running)
    deadline = time.monotonic() + START_TIMEOUT_S
    for node, process in processes.items():
        while not _accepts(node.client_address):
            if _has_ended(node, process):
                raise CommandError(f"Node {node.node_id} ended while it started. {_end_of_log(node.log_file)}")
            if time.monotonic() > deadline:
                raise CommandError(
                    f"Node {node.node_id} does not serve after {START_TIMEOUT_S:g} s. {_end_of_log(node.log_file)}",
                    ExitCode.UNAVAILABLE,
                )
            time.sleep(_POLL_S)


def _has_ended(node: NodeLayout, process: "subprocess.Popen[bytes] | None") -> bool:
    # A child that has ended is listed until it is waited for.
    return not running_nodes([node]) if process is None else process.poll() is not None


def send_signal(pids: Mapping[int, int], number: signal.Signals) -> None:
    for pid in pids.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until_ended(nodes: Sequence[NodeLayout]) -> None:
    deadline = time.monotonic() + END_TIMEOUT_S
    while left := running_nodes(nodes):
        if time.monotonic() > deadline:
            named = ", ".join(map(str, left))
            raise CommandError(
                f"Node {named} does not end", ExitCode.UNAVAILABLE, f"`ottla cluster kill {named}` ends it at once."
            )
        time.sleep(_POLL_S)


def _spawn(node: NodeLayout) -> "subprocess.Popen[bytes]":
    with node.log_file.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "ottla", "server", str(node.properties_file)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=node.directory,
            # It outlives this command, and Ctrl-C in the terminal is not for it.
            start_new_session=True,
        )


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _end_of_log(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
    return "\n".join((f"The end of {path}:", *lines))
