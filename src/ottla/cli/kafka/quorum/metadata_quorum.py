"""`kafka-metadata-quorum`: describe the metadata quorum, add and remove its voters."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import access, with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java, is_of_cluster
from ottla.cli.kafka.frame.options import CommandParser, tool_access
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ottla.client import Client
    from ottla.client.addresses import Address
    from ottla.client.admin.brokers import QuorumDescription, QuorumReplica

_COLUMNS = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    options = _parser().parse_args(arguments)
    try:
        run = {"describe": _describe, "add-controller": _add, "remove-controller": _remove}[options.command]
        return run(options)
    except CommandError as error:
        print(as_java(error) if is_of_cluster(error) else error, file=sys.stderr)
        return ExitCode.FAILED


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="kafka-metadata-quorum", description="This tool describes kraft metadata quorum status."
    )
    parser.add_bootstrap(is_required=True)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    describe = commands.add_parser("describe", help="describe the metadata quorum")
    describe.add_argument("--status", action="store_true", help="a short summary")
    describe.add_argument("--replication", action="store_true", help="every replica of the metadata log")
    describe.add_argument("--human-readable", action="store_true", help="times as how long ago they were")
    add = commands.add_parser("add-controller", help="make a controller a voter")
    add.add_argument("--dry-run", action="store_true", help="print what would be done")
    remove = commands.add_parser("remove-controller", help="take a voter out of the quorum")
    remove.add_argument("--controller-id", "-i", type=int32, required=True)
    remove.add_argument("--controller-directory-id", "-d", required=True)
    remove.add_argument("--dry-run", action="store_true", help="print what would be done")
    return parser


def _describe(options: argparse.Namespace) -> int:
    if options.status and options.replication:
        raise CommandError("Only one of --status or --replication should be specified with describe sub-command")
    if not options.status and not options.replication:
        raise CommandError("One of --status or --replication must be specified with describe sub-command")
    if options.human_readable and not options.replication:
        raise CommandError("The option --human-readable is only supported along with --replication")

    async def ask(client: "Client") -> "tuple[str | None, QuorumDescription]":
        return client.cluster.metadata.cluster_id, await client.admin.describe_quorum()

    cluster_id, quorum = with_client(tool_access(options), ask)
    if options.status:
        print(status_text(cluster_id, quorum))
    else:
        now_ms = round(time.time() * 1000) if options.human_readable else None
        print(replication_text(quorum, now_ms))
    return ExitCode.DONE


def status_text(cluster_id: str | None, quorum: "QuorumDescription") -> str:
    """The summary."""
    from ottla.cli.cluster.quorum_report import follower_lag

    lag, lag_ms = follower_lag(quorum)
    rows = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": lag,
        "MaxFollowerLagTimeMs": lag_ms,
        "CurrentVoters": replicas_json(quorum.voters, quorum.nodes),
        "CurrentObservers": replicas_json(quorum.observers, {}),
    }
    return "\n".join(f"{name + ':':<24}{value}" for name, value in rows.items())


def replicas_json(replicas: "Iterable[QuorumReplica]", nodes: "Mapping[int, Mapping[str, Address]]") -> str:
    """Replicas with what is known of each: its directory, its endpoints."""
    from ottla.protocol.uuids import ZERO_UUID, uuid_to_text

    rows = []
    for replica in replicas:
        row: dict[str, object] = {"id": replica.replica_id}
        if replica.directory_id != ZERO_UUID:
            row["directoryId"] = uuid_to_text(replica.directory_id)
        if listeners := nodes.get(replica.replica_id):
            row["endpoints"] = [f"{name}://{address}" for name, address in listeners.items()]
        rows.append(row)
    return json.dumps(rows)


def replication_text(quorum: "QuorumDescription", now_ms: int | None) -> str:
    """Print a table of all replicas; with the current time, their times are shown as how long ago they were."""
    from ottla.cli.cluster.quorum_report import replicas_of
    from ottla.protocol.uuids import uuid_to_text

    def when(time_ms: int) -> str:
        if now_ms is None:
            return str(time_ms)
        return "unknown" if time_ms < 0 else f"{now_ms - time_ms} ms ago"

    lines: list[Sequence[str]] = [_COLUMNS]
    for row in replicas_of(quorum):
        replica = row.replica
        times = (when(replica.last_fetch_ms), when(replica.last_caught_up_ms))
        place = (str(replica.replica_id), uuid_to_text(replica.directory_id), str(replica.log_end_offset), str(row.lag))
        lines.append((*place, *times, row.status))
    widths = [max(len(line[index]) for line in lines) for index in range(len(_COLUMNS))]
    return "\n".join("".join(f"{cell:<{width}}\t" for cell, width in zip(line, widths, strict=True)) for line in lines)


def _remove(options: argparse.Namespace) -> int:
    from ottla.protocol.uuids import uuid_from_text

    try:
        directory_id = uuid_from_text(options.controller_directory_id)
    except ValueError as error:
        raise CommandError(f"Failed to parse --controller-directory-id: {error}") from error
    told = f"KRaft controller {options.controller_id} with directory id {options.controller_directory_id}"
    if options.dry_run:
        print(f"DRY RUN of removing  {told}")
        return ExitCode.DONE

    async def ask(client: "Client") -> None:
        await client.admin.remove_voter(options.controller_id, directory_id)

    with_client(tool_access(options), ask)
    print(f"Removed {told}")
    return ExitCode.DONE


def _add(options: argparse.Namespace) -> int:
    from ottla.cli.kafka.quorum.controller_identity import read_controller
    from ottla.protocol.uuids import uuid_to_text

    if options.command_config is None:
        text = "You must supply the configuration file of the controller you are adding when using add-controller."
        raise CommandError(text)
    controller = read_controller(options.command_config)
    endpoints = ", ".join(f"{name}://{address}" for name, address in controller.listeners.items())
    told = f"controller {controller.node_id} with directory id {uuid_to_text(controller.directory_id)}"
    if options.dry_run:
        print(f"DRY RUN of adding {told} and endpoints: {endpoints}")
        return ExitCode.DONE

    async def ask(client: "Client") -> None:
        await client.admin.add_voter(controller.node_id, controller.directory_id, controller.listeners)

    # The file is the controller's own: of what it holds, nothing is meant for a client.
    with_client(access(options.bootstrap_server, {}), ask)
    print(f"Added {told} and endpoints: {endpoints}")
    return ExitCode.DONE
