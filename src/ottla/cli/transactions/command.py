"""`ottla transactions`: what is open, who has it open, and ending what hangs."""

import argparse
import time
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option
from ottla.cli.exits import ExitCode, UsageError
from ottla.cli.outcomes import report_errors
from ottla.cli.output import print_rows
from ottla.cli.transactions.changes import abort_transaction, force_terminate
from ottla.cli.transactions.descriptions import OPEN_STATES, transaction_row
from ottla.cli.transactions.producers import describe_producers, find_hanging
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.moments import parse_duration_option
from ottla.cli.words.names import parse_name_list
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.transactions import TransactionDescription

_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
_LIST_COLUMNS: Final = ("transactional_id", "coordinator", "producer_id", "state")
_COLUMNS: Final = (
    *_LIST_COLUMNS[:3],
    "producer_epoch",
    "state",
    "timeout_ms",
    "start_ms",
    "duration_ms",
    "partitions",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of transactions."""
    verbs = Verbs(parser)
    listing = verbs.add(
        "list",
        list_transactions,
        "list transactional ids and the states of their transactions",
        epilog="example: ottla transactions list --state ongoing --longer-than 1m",
    )
    listing.add_argument("--state", metavar="STATE[,...]", help=f"only in these states: {', '.join(_STATES)}")
    listing.add_argument("--producer-id", metavar="N[,...]", help="only of these producer ids")
    listing.add_argument("--longer-than", metavar="TIME", help="only transactions open for longer, as in 90s, 15m, 1h")
    listing.add_argument("--pattern", metavar="REGEX", help="only ids that match as a whole (RE2)")

    describing = verbs.add(
        "describe",
        describe_transactions,
        "show the transactions of transactional ids: since when they are open, and where",
        epilog="example: ottla transactions describe billing-1",
    )
    describing.add_argument("transactional_id", nargs="+", metavar="TRANSACTIONAL_ID")

    producing = verbs.add(
        "producers",
        describe_producers,
        "show the producers that partitions remember, and which of them hold a transaction open",
        epilog="example: ottla transactions producers orders:0",
    )
    producing.add_argument("topic", nargs="+", metavar="TOPIC[:PARTITIONS]")
    producing.add_argument("--broker", type=int32, metavar="ID", help="as this replica sees it, not the leader")

    finding = verbs.add(
        "find-hanging",
        find_hanging,
        "find open transactions that no coordinator will end",
        epilog="examples: ottla transactions find-hanging | ottla transactions find-hanging orders --broker 1",
    )
    finding.add_argument("topic", nargs="*", metavar="TOPIC[:PARTITIONS]", help="where to look; default everywhere")
    finding.add_argument("--broker", type=int32, metavar="ID", help="only in replicas of this broker, as it sees them")
    finding.add_argument(
        "--max-transaction-timeout",
        metavar="TIME",
        default="15m",
        help="the brokers' transaction.max.timeout.ms: only what was last written longer ago; default 15m",
    )
    _add_changes(verbs)


def _add_changes(verbs: Verbs) -> None:
    aborting = verbs.add(
        "abort",
        abort_transaction,
        "abort a hanging transaction in one partition; shows it, and does it with --execute",
        epilog="example: ottla transactions abort orders:0 --start-offset 1042 --execute",
    )
    aborting.add_argument("partition", metavar="TOPIC:PARTITION")
    aborting.add_argument(
        "--start-offset", type=int64, metavar="OFFSET", help="where it begins, as find-hanging shows; required"
    )
    aborting.add_argument("--force", action="store_true", help="even if its coordinator is going to end it")
    add_execute_option(aborting)

    terminating = verbs.add(
        "force-terminate",
        force_terminate,
        "fence the producers of transactional ids and abort what they have open; does it with --execute",
        epilog="example: ottla transactions force-terminate billing-1 --execute",
    )
    terminating.add_argument("transactional_id", nargs="+", metavar="TRANSACTIONAL_ID")
    add_execute_option(terminating)


def list_transactions(options: argparse.Namespace) -> int:
    """Every transactional id with its coordinator and state."""
    states = parse_name_list("--state", options.state, _STATES)
    producer_ids = _producer_ids(options.producer_id)
    longer_than_ms = None
    if options.longer_than is not None:
        longer_than_ms = parse_duration_option("--longer-than", options.longer_than)
        # Apache's brokers count ids without an open transaction as open since 1970.
        states = states or list(OPEN_STATES)

    async def ask(client: "Client") -> list[dict[str, object]]:
        listed = await client.admin.list_transactions(
            states=states, producer_ids=producer_ids, longer_than_ms=longer_than_ms, id_pattern=options.pattern
        )
        return [
            {
                "transactional_id": row.transactional_id,
                "coordinator": row.coordinator_id,
                "producer_id": row.producer_id,
                "state": row.state,
            }
            for row in listed
        ]

    print_rows(output_format(options), _LIST_COLUMNS, with_client(cluster_access(options), ask))
    return ExitCode.DONE


def describe_transactions(options: argparse.Namespace) -> int:
    """The transactions of some ids."""

    async def ask(client: "Client") -> "dict[str, TransactionDescription]":
        return await client.admin.describe_transactions(options.transactional_id)

    found = with_client(cluster_access(options), ask)
    now_ms = time.time_ns() // 1_000_000
    rows = [transaction_row(row, now_ms) for row in found.values() if row.error is None]
    errors = {name: row.error for name, row in found.items()}
    print_rows(output_format(options), _COLUMNS, rows, errors=errors)
    return report_errors("ottla transactions", errors)


def _producer_ids(text: str | None) -> list[int]:
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    try:
        return [int64(word) for word in words]
    except ValueError as error:
        raise UsageError(f"--producer-id: {error}: write numbers, as in --producer-id 1000,1001.") from None
