"""The flags of kafka-consumer-groups, and which of them fit together."""

import argparse
import sys
from typing import Final

from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int32, int64

_ACTIONS: Final = ("list", "describe", "delete", "reset_offsets", "delete_offsets", "validate_regex")
_TARGETS: Final = (
    "from_file",
    "to_datetime",
    "by_duration",
    "to_latest",
    "to_current",
    "to_earliest",
    "to_offset",
    "shift_by",
)
# What was written without a value.
_NO_VALUE: Final = ""


def parser() -> ToolParser:
    """All flags, old and new."""
    flags = ToolParser(
        "kafka-consumer-groups", "Lists groups, describes them, deletes them, and moves the offsets they committed."
    )
    flags.add_bootstrap()
    flags.add_argument("--list", action="store_true", help="list groups")
    flags.add_argument("--describe", action="store_true", help="show offsets and lag, members or state of groups")
    flags.add_argument("--delete", action="store_true", help="delete groups without members")
    flags.add_argument("--reset-offsets", action="store_true", help="move offsets; --dry-run shows, --execute does it")
    flags.add_argument("--delete-offsets", action="store_true", help="delete a group's offsets of topics")
    flags.add_argument("--validate-regex", metavar="REGEX", help="say whether a regular expression is one")
    flags.add_argument("--group", action="append", default=[], help="a group; repeatable")
    flags.add_argument("--all-groups", action="store_true", help="every group")
    flags.add_argument("--topic", action="append", default=[], metavar="TOPIC[:PARTITIONS]", help="repeatable")
    flags.add_argument("--all-topics", action="store_true", help="every topic with a committed offset")
    flags.add_argument("--members", action="store_true", help="with --describe: the members")
    flags.add_argument("--offsets", action="store_true", help="with --describe: the offsets, the default")
    flags.add_argument("--state", nargs="?", const=_NO_VALUE, metavar="STATES", help="the state; with --list, a choice")
    flags.add_argument("--type", nargs="?", const=_NO_VALUE, metavar="TYPES", help="with --list: the type, a choice")
    flags.add_argument("--verbose", action="store_true", help="with --describe: more columns")
    flags.add_argument("--timeout", type=int32, default=30_000, metavar="MS", help="how long to try")
    flags.add_argument("--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="first offset since a time")
    flags.add_argument("--by-duration", metavar="PnDTnHnMnS", help="first offset since so long ago")
    flags.add_argument("--to-earliest", action="store_true")
    flags.add_argument("--to-latest", action="store_true")
    flags.add_argument("--to-current", action="store_true")
    flags.add_argument("--to-offset", type=int64, metavar="OFFSET")
    flags.add_argument("--shift-by", type=int64, metavar="N", help="on by N, or back by -N")
    flags.add_argument("--from-file", metavar="FILE", help="lines of [GROUP,]TOPIC,PARTITION,OFFSET")
    flags.add_argument("--dry-run", action="store_true", help="with --reset-offsets: change nothing")
    flags.add_argument("--execute", action="store_true", help="with --reset-offsets: do it")
    flags.add_argument("--export", action="store_true", help="with --reset-offsets: print lines for --from-file")
    return flags


def checked_action(parser: ToolParser, options: argparse.Namespace) -> str:
    """The one action of a line whose options fit together."""
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if options.describe and not (options.group or options.all_groups):
        parser.error("Option [describe] takes one of these options: [group], [all-groups]")
    if len(chosen) != 1:
        known = ", ".join(f"--{action.replace('_', '-')}" for action in _ACTIONS)
        parser.error(f"Command must include exactly one action: {known}")
    (action,) = chosen
    if action != "validate_regex" and options.bootstrap_server is None:
        parser.missing("bootstrap-server")
    if options.group and options.all_groups:
        parser.conflict("group", "all-groups")
    if action == "reset_offsets":
        _check_reset(parser, options)
    else:
        _check(parser, action, options)
    return action


def _check(parser: ToolParser, action: str, options: argparse.Namespace) -> None:
    if action == "list":
        for name in ("group", "topic"):
            if getattr(options, name):
                parser.conflict(name, "list")
    elif action == "describe":
        if options.members + options.offsets + (options.state is not None) > 1:
            parser.error("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if options.state:
            parser.error("Option [describe] does not take a value for [state]")
    elif action == "delete":
        if not (options.group or options.all_groups):
            parser.error("Option [delete] takes one of these options: [group], [all-groups]")
        if options.topic:
            parser.error("The consumer does not support topic-specific offset deletion from a consumer group.")
    elif action == "delete_offsets" and not (options.group and options.topic):
        parser.error("Option [delete-offsets] takes the following options: [group], [topic]")


def _check_reset(parser: ToolParser, options: argparse.Namespace) -> None:
    if options.execute and options.dry_run:
        parser.error("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not (options.execute or options.dry_run):
        print(
            "WARN: No action will be performed as the --execute option is missing. "
            "Say --dry-run in scripts that mean it.",
            file=sys.stderr,
        )
    if not (options.group or options.all_groups):
        parser.error("Option [reset-offsets] takes one of these options: [group], [all-groups]")
    given = [name for name in _TARGETS if getattr(options, name) not in (None, False)]
    if len(given) > 1:
        parser.conflict(given[1].replace("_", "-"), given[0].replace("_", "-"))
    if options.topic and options.all_topics:
        parser.conflict("all-topics", "topic")
    if not given:
        known = ", ".join(f"[{name.replace('_', '-')}]" for name in _TARGETS)
        parser.error(f"Option '[reset-offsets]' requires one of the following scenarios: [{known}]")
    if not (options.topic or options.all_topics or options.from_file):
        parser.error("One of the reset scopes should be defined: --all-topics, --topic.")
