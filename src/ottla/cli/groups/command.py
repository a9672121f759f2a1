"""`ottla groups`: consumer groups, how far they are, and moving them."""

import argparse
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.groups.changes import delete_groups, reset_groups
from ottla.cli.outcomes import Errors, report_errors
from ottla.cli.output import OutputFormat, print_object, print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.names import parse_name_list

if TYPE_CHECKING:
    from ottla.cli.groups.lags import GroupLag
    from ottla.client import Client

_STATES: Final = (
    "Empty",
    "Stable",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
)
# Share and streams groups are described by requests of their own; an old broker lists no types.
_DESCRIBED_TYPES: Final = ("classic", "consumer", "")
_TYPES: Final = ("classic", "consumer", "share", "streams")
_LIST_COLUMNS = ("group", "state", "type", "protocol", "coordinator")
_LAG_COLUMNS = (
    "topic",
    "partition",
    "current_offset",
    "last_stable_offset",
    "log_end_offset",
    "lag",
    "member",
    "host",
    "client_id",
)
_MEMBER_COLUMNS = ("member", "instance_id", "client_id", "host", "partitions")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of groups."""
    verbs = Verbs(parser)
    listing = verbs.add("list", list_groups, "list groups", epilog="example: ottla groups list --state stable,empty")
    listing.add_argument("--state", metavar="STATE[,...]", help=f"only groups in these states: {', '.join(_STATES)}")
    listing.add_argument("--type", metavar="TYPE[,...]", help=f"only groups of these types: {', '.join(_TYPES)}")

    describing = verbs.add(
        "describe",
        describe_groups,
        "show the state, the members and the lag of groups",
        epilog="examples: ottla groups describe billing -o json | ottla groups describe 'billing-*' | "
        "ottla groups describe --all",
    )
    describing.add_argument("group", nargs="*", help="name, or pattern such as 'billing-*'")
    describing.add_argument("--all", action="store_true", help="every group that consumers read with")

    resetting = verbs.add(
        "reset",
        reset_groups,
        "move what groups have committed; shows the plan, and does it with --execute",
        epilog="examples: ottla groups reset billing --all-topics --to earliest | "
        "ottla groups reset billing --topic orders:0,1 --to @-15m --execute --export undo.csv | "
        "ottla groups reset billing --from-file undo.csv --execute",
    )
    resetting.add_argument("group", nargs="+")
    scope = resetting.add_mutually_exclusive_group()
    scope.add_argument("--topic", action="append", metavar="TOPIC[:PARTITIONS]", help="where; repeatable")
    scope.add_argument("--all-topics", action="store_true", help="wherever the group has committed something")
    target = resetting.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to",
        metavar="WHERE",
        help="earliest, latest, current, an offset, +N, -N, -15m, @DATE, @MS",
    )
    target.add_argument("--from-file", metavar="FILE", help="lines of [GROUP,]TOPIC,PARTITION,OFFSET")
    resetting.add_argument("--export", metavar="FILE", help="write what is committed now: --from-file brings it back")
    add_execute_option(resetting)

    deleting = verbs.add(
        "delete",
        delete_groups,
        "delete groups, or what they committed for topics; shows what goes, and does it with --execute",
        epilog="examples: ottla groups delete old-billing --execute | "
        "ottla groups delete billing --topic orders --execute",
    )
    deleting.add_argument("group", nargs="+")
    deleting.add_argument(
        "--topic", action="append", metavar="TOPIC[:PARTITIONS]", help="only the offsets of this topic; repeatable"
    )
    add_execute_option(deleting)


def list_groups(options: argparse.Namespace) -> int:
    """Every group with its state, type and coordinator."""

    states = parse_name_list("--state", options.state, _STATES)
    types = parse_name_list("--type", options.type, _TYPES)

    async def ask(client: "Client") -> list[dict[str, object]]:
        groups = await client.admin.list_groups(states=states, types=types)
        return [
            {
                "group": group.group_id,
                "state": group.state,
                "type": group.type.lower(),
                "protocol": group.protocol_type,
                "coordinator": group.coordinator_id,
            }
            for group in groups
        ]

    print_rows(output_format(options), _LIST_COLUMNS, with_client(cluster_access(options), ask))
    return ExitCode.DONE


def describe_groups(options: argparse.Namespace) -> int:
    """State, members and lag of each group; the exit code is that of the first that could not be described."""

    if options.all == bool(options.group):
        raise UsageError("give the names of groups, or --all.")

    async def ask(client: "Client") -> "tuple[dict[str, GroupLag], dict[str, CommandError]]":
        from ottla.cli.groups.lags import group_lags

        names, missing = await _described_groups(client, options)
        return await group_lags(client, names), missing

    found, missing = with_client(cluster_access(options), ask)
    shown = [lag for lag in found.values() if lag.description.error is None]
    chosen = output_format(options)
    if chosen is OutputFormat.TABLE:
        for number, lag in enumerate(shown):
            if number:
                print()
            _print_group(lag)
    else:
        print_rows(chosen, _GROUP_KEYS, map(_group_object, shown))
    errors: Errors = {name: lag.description.error for name, lag in found.items()}
    return report_errors("ottla groups", {**errors, **missing})


async def _described_groups(
    client: "Client", options: argparse.Namespace
) -> "tuple[list[str], dict[str, CommandError]]":
    from ottla.cli.words.names import is_pattern, select_groups

    if not options.all and not any(map(is_pattern, options.group)):
        return list(dict.fromkeys(options.group)), {}
    listed = [group.group_id for group in await client.admin.list_groups() if group.type.lower() in _DESCRIBED_TYPES]
    return (listed, {}) if options.all else select_groups(listed, options.group)


_GROUP_KEYS = ("group", "state", "type", "assignor", "coordinator", "lag", "partitions", "members")


def _group_object(lag: "GroupLag") -> dict[str, object]:
    described = lag.description
    return {
        "group": described.group_id,
        "state": described.state,
        "type": described.type,
        "assignor": described.assignor or None,
        "coordinator": None if described.coordinator is None else described.coordinator.node_id,
        "lag": lag.lag,
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "current_offset": row.current_offset,
                "last_stable_offset": row.last_stable_offset,
                "log_end_offset": row.log_end_offset,
                "lag": row.lag,
                "member": None if row.member is None else row.member.member_id,
                "host": None if row.member is None else row.member.host,
                "client_id": None if row.member is None else row.member.client_id,
            }
            for row in lag.partitions
        ],
        "members": [
            {
                "member": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [f"{topic}:{number}" for topic, number in sorted(member.assignment)],
            }
            for member in described.members
        ],
    }


def _print_group(lag: "GroupLag") -> None:
    shown = _group_object(lag)
    partitions, members = shown.pop("partitions"), shown.pop("members")
    assert isinstance(partitions, list), "a group's partitions are rows"
    assert isinstance(members, list), "a group's members are rows"
    print_object(OutputFormat.TABLE, shown)
    for columns, rows in ((_LAG_COLUMNS, partitions), (_MEMBER_COLUMNS, members)):
        if rows:
            print()
            print_rows(OutputFormat.TABLE, columns, rows)
