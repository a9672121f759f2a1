"""The options of `kafka-transactions`: sub-commands, of which each tells help with exit code 1, as Apache's do."""

import argparse
from typing import Any

from ottla import __version__
from ottla.cli.exits import ExitCode
from ottla.cli.kafka.frame.options import KAFKA_VERSION, CommandParser
from ottla.cli.words.whole_numbers import int16, int32, int64

LIST = "list"
DESCRIBE = "describe"
DESCRIBE_PRODUCERS = "describe-producers"
ABORT = "abort"
FIND_HANGING = "find-hanging"
FORCE_TERMINATE = "forceTerminateTransaction"


class _Help(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.print_help()
        parser.exit(ExitCode.FAILED)


class _Parser(CommandParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, add_help=False)
        self.add_argument("-h", "--help", action=_Help, nargs=0, help="show this help message and exit")


def transactions_parser() -> CommandParser:
    """The parser of the tool."""
    description = "This tool is used to analyze transactions, and to recover from hanging ones."
    parser = _Parser(prog="kafka-transactions", description=description)
    version = f"{KAFKA_VERSION} (Ottla {__version__})"
    parser.add_argument("-v", "--version", action="version", version=version, help="print the version")
    parser.add_bootstrap(is_required=True)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    listing = commands.add_parser(LIST, help="list transactions")
    listing.add_argument("--duration-filter", type=int64, default=-1, metavar="MS", help="open for longer; < 0 is all")
    listing.add_argument("--transactional-id-pattern", metavar="REGEX", help="ids that match")

    describing = commands.add_parser(DESCRIBE, help="describe the state of an active transactional-id")
    describing.add_argument("--transactional-id", required=True, metavar="ID")

    producing = commands.add_parser(DESCRIBE_PRODUCERS, help="describe the active producers of a partition")
    producing.add_argument("--broker-id", type=int32, metavar="ID", help="the replica to ask; default the leader")
    _add_partition(producing, is_required=True)

    aborting = commands.add_parser(ABORT, help="abort a hanging transaction")
    _add_partition(aborting, is_required=True)
    aborting.add_argument("--start-offset", type=int64, metavar="OFFSET", help="where the transaction begins")
    for name, kind in (("producer-id", int64), ("producer-epoch", int16), ("coordinator-epoch", int32)):
        aborting.add_argument(f"--{name}", type=kind, metavar="N", help="in place of --start-offset, all three")

    finding = commands.add_parser(FIND_HANGING, help="find hanging transactions")
    finding.add_argument("--broker-id", type=int32, metavar="ID", help="the broker to search")
    finding.add_argument("--max-transaction-timeout", type=int32, default=15, metavar="MINUTES", help="default 15")
    _add_partition(finding, is_required=False)

    terminating = commands.add_parser(FORCE_TERMINATE, help="abort what is open of a transactionalId")
    terminating.add_argument("--transactionalId", required=True, dest="transactional_id", metavar="ID")
    return parser


def _add_partition(parser: argparse.ArgumentParser, *, is_required: bool) -> None:
    parser.add_argument("--topic", required=is_required, metavar="TOPIC")
    parser.add_argument("--partition", required=is_required, type=int32, metavar="N")
