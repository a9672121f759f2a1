"""`ottla cluster up`, `status`, `kill`, `restart`, `down`: a cluster of processes on this machine.

For trying out, for demonstrations and for tests of what happens when nodes fail. On several machines the same files do
the same: a server.properties each, `ottla storage format`, `ottla server`.
"""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, UsageError, report
from ottla.cli.output import OutputFormat, print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.cli.cluster.local.health import NodeHealth
    from ottla.config.cluster_layout import NodeLayout

DEFAULT_DIRECTORY: Final = "ottla-cluster"
DEFAULT_COUNT: Final = 3
DEFAULT_LISTEN: Final = "127.0.0.1:9092"
# How long a node that was restarted may take to be in sync again.
_WHOLE_TIMEOUT_S: Final = 120.0
# An election, or a node that is busy with its start, takes less than this.
_SETTLE_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.2

_COLUMNS: Final = ("node", "address", "roles", "pid", "state", "controller", "leads", "replicas", "out_of_sync")
_SIGNALS: Final = ("KILL", "TERM", "STOP", "CONT")


def add_verbs(verbs: Verbs) -> None:
    """The verbs of a cluster on this machine."""
    up = verbs.add_local(
        "up",
        run_up,
        "make a cluster of processes on this machine, or start those of its nodes that do not run",
        epilog="example: ottla cluster up -n 3 && ottla topics create events --partitions 6",
    )
    _add_directory(up)
    up.add_argument("-n", "--nodes", type=int32, metavar="N", help=f"how many nodes; default {DEFAULT_COUNT}")
    up.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help=f"address of the first node, the others have the next ports; default {DEFAULT_LISTEN}. A cluster that is "
        "down moves there",
    )
    up.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of every node of a new cluster; repeatable",
    )
    _add_directory(verbs.add_local("status", run_status, "show the nodes of the cluster on this machine"))
    kill = verbs.add_local(
        "kill", run_kill, "kill nodes of the cluster on this machine", epilog="example: ottla cluster kill 2"
    )
    _add_directory(kill)
    _add_nodes(kill, "+")
    kill.add_argument(
        "--signal",
        choices=_SIGNALS,
        default="KILL",
        help="KILL is a crash, the default; TERM an orderly end; STOP freezes a node and CONT wakes it",
    )
    restart = verbs.add_local("restart", run_restart, "stop nodes in order and start them again")
    _add_directory(restart)
    _add_nodes(restart, "*")
    restart.add_argument(
        "--rolling", action="store_true", help="one after the other, each when all replicas are in sync again"
    )
    down = verbs.add_local("down", run_down, "stop the cluster on this machine; its data stay")
    _add_directory(down)
    down.add_argument("--delete", action="store_true", help="remove the cluster's directory, too")


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DEFAULT_DIRECTORY,
        help=f"the cluster's directory; default ./{DEFAULT_DIRECTORY}",
    )


def _add_nodes(parser: argparse.ArgumentParser, count: str) -> None:
    default = "" if count == "+" else "; default all of them"
    parser.add_argument("nodes", nargs=count, type=int32, metavar="NODE", help=f"ids of nodes{default}")


def run_up(options: argparse.Namespace) -> int:
    """Make the cluster if it is new, and start what does not run."""
    from ottla.cli.cluster.local.interruption import Progress, telling_what_is_left

    data = _data_option(options)
    remedy = f"`ottla cluster up{data}` goes on; `ottla cluster down{data}` stops what runs."
    with telling_what_is_left(Path(options.data), Progress(remedy)):
        return _up(options)


def _up(options: argparse.Namespace) -> int:
    from ottla.cli.cluster.local import cluster_directory, node_processes
    from ottla.cli.cluster.local.health import complaints
    from ottla.cli.cluster.local.inspection import inspect
    from ottla.cli.words.config_texts import parse_settings

    root = Path(options.data)
    if not cluster_directory.exists(root):
        count = DEFAULT_COUNT if options.nodes is None else options.nodes
        if count < 1:
            raise UsageError(f"-n {count}: a cluster has at least one node.")
        cluster_directory.create(
            root, count, _listen(options.listen or DEFAULT_LISTEN), parse_settings("--override", options.override)
        )
    elif options.override:
        raise UsageError(
            f"{root} holds a cluster already: --override is for a new one. Edit {root}/node-*/server.properties, or "
            "name another --data."
        )
    identity, nodes = cluster_directory.read(root)
    if options.nodes not in (None, len(nodes)):
        raise CommandError(
            f"{root} holds a cluster of {len(nodes)} nodes, not of {options.nodes}",
            ExitCode.CONFLICT,
            "Leave -n out, or name another --data.",
        )
    running = node_processes.running_nodes(nodes)
    if options.listen is not None:
        nodes = _moved(options, nodes, running)
    _warn_of_unknown_settings(nodes)
    cluster_directory.format_nodes(identity, nodes)
    try:
        node_processes.start(
            [node for node in nodes if node.node_id not in running], [node for node in nodes if node.node_id in running]
        )
    except CommandError:
        # A node that waits for others says only that it waits.
        _complain(options, inspect(nodes))
        raise
    found = _settled(nodes)
    if output_format(options) is OutputFormat.TABLE:
        if not complaints(found, ""):
            print(f"A cluster of {len(nodes)} node{'' if len(nodes) == 1 else 's'} is running.")
        print(f"  bootstrap   {_bootstrap(nodes)}")
        print(f"  cluster id  {identity.cluster_id}")
        print(f"  data        {root.absolute()}\n")
    return _show(options, found)


def _warn_of_unknown_settings(nodes: "Sequence[NodeLayout]") -> None:
    """The nodes start without them, and say so in their logs, where nobody looks who has just made a mistake."""
    from ottla.config.unknown_settings import warnings

    for warning in dict.fromkeys(warning for node in nodes for warning in warnings(node.settings)):
        print(f"ottla cluster: warning: {warning}", file=sys.stderr)


def _moved(
    options: argparse.Namespace, nodes: "tuple[NodeLayout, ...]", running: Mapping[int, int]
) -> "tuple[NodeLayout, ...]":
    """The nodes at the ports that --listen asks for."""
    from ottla.cli.cluster.local import cluster_directory

    listen = _listen(options.listen)
    if running and listen != nodes[0].client_address:
        named = ", ".join(map(str, running))
        raise CommandError(
            f"--listen {listen}: the cluster in {options.data} runs from {nodes[0].client_address} on (node {named})",
            ExitCode.CONFLICT,
            f"`ottla cluster down{_data_option(options)}` first, or name another --data.",
        )
    return nodes if running else cluster_directory.move(nodes, listen)


def run_status(options: argparse.Namespace) -> int:
    """Show every node; exit code 1 unless all of them serve and are in sync."""
    from ottla.cli.cluster.local import cluster_directory
    from ottla.cli.cluster.local.inspection import inspect

    _, nodes = cluster_directory.read(Path(options.data))
    found = inspect(nodes)
    _show(options, found)
    return ExitCode.DONE if all(health.is_whole for health in found) else ExitCode.FAILED


def run_kill(options: argparse.Namespace) -> int:
    """Send a signal to nodes."""
    from ottla.cli.cluster.local import cluster_directory, node_processes

    _, nodes = cluster_directory.read(Path(options.data))
    chosen = _chosen(nodes, options.nodes)
    pids = node_processes.running_nodes(chosen)
    for node in chosen:
        if node.node_id not in pids:
            raise CommandError(f"Node {node.node_id} is not running", ExitCode.CONFLICT)
    number = signal.Signals[f"SIG{options.signal}"]
    node_processes.send_signal(pids, number)
    if number in (signal.SIGKILL, signal.SIGTERM):
        node_processes.wait_until_ended(chosen)
    return ExitCode.DONE


def run_restart(options: argparse.Namespace) -> int:
    """Restart nodes, all at once or one after the other."""
    from ottla.cli.cluster.local import cluster_directory, node_processes
    from ottla.cli.cluster.local.interruption import Progress, telling_what_is_left

    _, nodes = cluster_directory.read(Path(options.data))
    chosen = _chosen(nodes, options.nodes)
    if options.rolling:
        _require_all_running(nodes)
    data = _data_option(options)
    progress = Progress(f"`ottla cluster up{data}` starts what has stopped.")
    with telling_what_is_left(Path(options.data), progress):
        for index, batch in enumerate([[node] for node in chosen] if options.rolling else [chosen]):
            if options.rolling:
                left = " ".join(str(node.node_id) for node in chosen[index:])
                progress.remedy = (
                    f"`ottla cluster up{data}` starts what has stopped; then `ottla cluster restart --rolling "
                    f"{left}{data}` goes on."
                )
                _wait_until_whole(nodes)
            progress.stopping = batch
            _stop(batch)
            progress.stopping = ()
            node_processes.start(batch)
            if options.rolling:
                _wait_until_whole(nodes)
                print(f"Node {batch[0].node_id} is back, and everything is in sync.", file=sys.stderr)
        return _show(options, _settled(nodes))


def run_down(options: argparse.Namespace) -> int:
    """Stop all nodes."""
    from ottla.cli.cluster.local import cluster_directory
    from ottla.cli.cluster.local.interruption import Progress, telling_what_is_left

    root = Path(options.data)
    _, nodes = cluster_directory.read(root)
    data = _data_option(options)
    with telling_what_is_left(root, Progress(f"`ottla cluster down{data}` waits for the rest.", nodes)):
        _stop(nodes)
    if options.delete:
        cluster_directory.delete(root, nodes)
    return ExitCode.DONE


def _stop(nodes: "Sequence[NodeLayout]") -> None:
    from ottla.cli.cluster.local import node_processes

    pids = node_processes.running_nodes(nodes)
    node_processes.send_signal(pids, signal.SIGTERM)
    # A frozen process takes no other signal.
    node_processes.send_signal(pids, signal.SIGCONT)
    node_processes.wait_until_ended(nodes)


def _settled(nodes: "Sequence[NodeLayout]") -> "list[NodeHealth]":
    """How the nodes are, once there is nothing to complain about or it has not passed in a while."""
    from ottla.cli.cluster.local.health import complaints
    from ottla.cli.cluster.local.inspection import inspect

    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    while complaints(found := inspect(nodes), "") and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return found


def _require_all_running(nodes: "Sequence[NodeLayout]") -> None:
    """With one that is away and another that restarts, there may be no majority, or too few replicas."""
    from ottla.cli.cluster.local import node_processes

    pids = node_processes.running_nodes(nodes)
    missing = ", ".join(str(node.node_id) for node in nodes if node.node_id not in pids)
    if missing:
        raise CommandError(f"Node {missing} is not running", ExitCode.CONFLICT, "`ottla cluster up` starts it.")


def _wait_until_whole(nodes: "Sequence[NodeLayout]") -> None:
    from ottla.cli.cluster.local.inspection import inspect

    deadline = time.monotonic() + _WHOLE_TIMEOUT_S
    while lagging := [health.node.node_id for health in inspect(nodes) if not health.is_whole]:
        if time.monotonic() > deadline:
            waited_for = ", ".join(map(str, lagging))
            raise CommandError(
                f"Node {waited_for} is not in sync after {_WHOLE_TIMEOUT_S:g} s; the others were left as they are",
                ExitCode.UNAVAILABLE,
                "`ottla cluster status` shows how far it is.",
            )
        time.sleep(_POLL_S)


def _chosen(nodes: "Sequence[NodeLayout]", ids: Sequence[int]) -> "list[NodeLayout]":
    by_id = {node.node_id: node for node in nodes}
    for node_id in ids:
        if node_id not in by_id:
            known = ", ".join(map(str, by_id))
            raise CommandError(f"There is no node {node_id}: the cluster has {known}", ExitCode.NOT_FOUND)
    return [by_id[node_id] for node_id in ids] or list(nodes)


def _bootstrap(nodes: "Sequence[NodeLayout]") -> str:
    return ",".join(node.client_address for node in nodes)


def _listen(text: str) -> str:
    host, separator, port = text.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) == 0:
        raise UsageError(f"--listen {text}: write HOST:PORT, as in --listen {DEFAULT_LISTEN}.")
    return text


def _show(options: argparse.Namespace, found: "Sequence[NodeHealth]") -> int:
    """Print the nodes, and below them what hinders them; the exit code of that."""
    rows = [
        {
            "node": health.node.node_id,
            "address": health.node.client_address,
            "roles": health.node.settings["process.roles"].split(","),
            "pid": health.pid,
            "state": health.state,
            "controller": health.is_active_controller,
            "leads": health.leads,
            "replicas": health.replicas,
            "out_of_sync": health.out_of_sync,
        }
        for health in found
    ]
    print_rows(output_format(options), _COLUMNS, rows)
    return _complain(options, found)


def _complain(options: argparse.Namespace, found: "Sequence[NodeHealth]") -> int:
    """Tell what hinders the nodes; the exit code of that."""
    from ottla.cli.cluster.local.health import complaints

    told = complaints(found, _data_option(options))
    for complaint in told:
        report("ottla cluster", complaint)
    return told[0].code if told else ExitCode.DONE


def _data_option(options: argparse.Namespace) -> str:
    """What a further command about the same cluster has to end with."""
    return "" if options.data == DEFAULT_DIRECTORY else f" --data {shlex.quote(options.data)}"
