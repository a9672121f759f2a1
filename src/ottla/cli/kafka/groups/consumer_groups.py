"""`kafka-consumer-groups`: list, describe, reset and delete groups, with Apache's flags, tables and exit codes.

A failure after the line was understood is reported on stdout, and the exit code stays 0: scripts look for `Error:`.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.kafka.frame.java_errors import as_java, told
from ottla.cli.kafka.frame.options import tool_access
from ottla.cli.kafka.groups import group_options, group_tables
from ottla.cli.kafka.groups.group_resets import delete_offsets, named_groups, reset_offsets

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.groups import GroupDescription

_STATES: Final = (
    "Dead",
    "Reconciling",
    "Assigning",
    "Empty",
    "PreparingRebalance",
    "Stable",
    "CompletingRebalance",
)
_TYPES: Final = ("Consumer", "Classic")


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = group_options.parser()
    options = parser.parse(arguments)
    action = group_options.checked_action(parser, options)
    if action == "validate_regex":
        return _validate_regex(options.validate_regex)
    work = {
        "list": _list,
        "describe": _describe,
        "delete": _delete,
        "reset_offsets": reset_offsets,
        "delete_offsets": delete_offsets,
    }[action]
    # The time that --timeout gives is that of every call.
    more = {"default.api.timeout.ms": str(options.timeout)}
    try:
        with_client(tool_access(options, more), lambda client: work(client, options))
    except UsageError as error:
        parser.error(str(error))
    except CommandError as error:
        print(f"\nError: Executing consumer group command failed due to {_cause(error)}")
    return ExitCode.DONE


def _cause(error: CommandError) -> str:
    from ottla.client.errors import KafkaError

    cause = error.__cause__
    return as_java(cause) if isinstance(cause, KafkaError) else told(error)


def _validate_regex(text: str) -> int:
    import re

    try:
        re.compile(text)
    except re.error as error:
        print(f"The regular expression `{text}` is invalid: {error}.")
    else:
        # Kafka's brokers match with RE2, which has no look-around and no references back.
        if re.search(r"\(\?(<?[=!]|P=)|(?<!\\)(\\\\)*\\[1-9]", text):
            print(f"The regular expression `{text}` is invalid: invalid or unsupported Perl syntax.")
        else:
            print(f"The regular expression `{text}` is valid.")
    return ExitCode.DONE


async def _list(client: "Client", options: argparse.Namespace) -> None:
    states = _chosen(options.state, _STATES, "state")
    types = _chosen(options.type, _TYPES, "types")
    listed = await client.admin.list_groups(states=states, types=[name.lower() for name in types])
    # Other kinds of groups have tools of their own; a group without members may have no protocol.
    groups = [group for group in listed if group.protocol_type in ("consumer", "")]
    lines = group_tables.listing_lines(groups, with_type=options.type is not None, with_state=options.state is not None)
    for line in lines:
        print(line)


def _chosen(text: str | None, known: Sequence[str], what: str) -> list[str]:
    """The values of a list, whatever their case, as Kafka spells them."""
    if not text:
        return []
    spelt = {name.lower(): name for name in known}
    chosen = [spelt.get(word.strip().lower()) for word in text.split(",")]
    if None in chosen:
        singular = what.removesuffix("s")
        raise UsageError(f"Invalid {what} list '{text}'. Valid {singular}s are: {', '.join(known)}")
    return [name for name in chosen if name is not None]


async def _describe(client: "Client", options: argparse.Namespace) -> None:
    groups = await named_groups(client, options)
    if options.members or options.state is not None:
        described = await client.admin.describe_groups(groups)
        for group in _ordered(described.values()):
            lines = group_tables.member_lines if options.members else group_tables.state_lines
            _print_group(group, lines(group, verbose=options.verbose))
        return
    from ottla.cli.groups.lags import group_lags

    lags = await group_lags(client, groups)
    _ordered(lag.description for lag in lags.values())
    for group_id in sorted(lags):
        lag = lags[group_id]
        _print_group(lag.description, group_tables.offset_lines(lag, verbose=options.verbose) if lag.partitions else [])


def _ordered(groups: "Iterable[GroupDescription]") -> "list[GroupDescription]":
    """By name; the first that could not be described is the error of the whole command."""
    listed = sorted(groups, key=lambda group: group.group_id)
    for group in listed:
        if group.error is not None:
            raise CommandError(str(group.error)) from group.error
    return listed


def _print_group(group: "GroupDescription", lines: Sequence[str]) -> None:
    if remark := group_tables.state_remark(group):
        print(remark, file=sys.stderr)
    if lines:
        print()
    for line in lines:
        print(line)


async def _delete(client: "Client", options: argparse.Namespace) -> None:
    outcomes = await client.admin.delete_groups(await named_groups(client, options))
    failed = {group_id: error for group_id, error in outcomes.items() if error is not None}
    deleted = ", ".join(f"'{group_id}'" for group_id in outcomes if group_id not in failed)
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return
    print("\nError: Deletion of some consumer groups failed:")
    for group_id, error in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {as_java(error)}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")
