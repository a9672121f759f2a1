"""`ottla records`: deleting the oldest records of partitions."""

import argparse
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option, may_act, report_outcome
from ottla.cli.exits import CommandError, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.partitions import parse_selection, resolve_selections
from ottla.cli.words.whole_numbers import int64

if TYPE_CHECKING:
    from ottla.cli.outcomes import Errors
    from ottla.client import Client, TopicPartition

_COLUMNS = ("topic", "partition", "log_start_offset", "log_end_offset", "new_start_offset", "deleted", "done")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of records."""
    verbs = Verbs(parser)
    deleting = verbs.add(
        "delete",
        delete_records,
        "delete the records before an offset; shows how many, and does it with --execute",
        epilog="examples: ottla records delete orders:0 --before 1000 | "
        "ottla records delete orders --before latest --execute",
    )
    deleting.add_argument("topic", nargs="+", metavar="TOPIC[:PARTITIONS]")
    deleting.add_argument("--before", required=True, metavar="OFFSET", help="an offset, or latest: everything")
    add_execute_option(deleting)


def delete_records(options: argparse.Namespace) -> int:
    """Show what would go, and with --execute move the start of each partition."""
    before = _before(options.before)
    selections = list(map(parse_selection, options.topic))

    async def work(client: "Client") -> "tuple[list[dict[str, object]], Errors, bool]":
        from ottla.client import OffsetSpec

        partitions = await resolve_selections(client, selections)
        starts = await _offsets(client, partitions, OffsetSpec.EARLIEST)
        ends = await _offsets(client, partitions, OffsetSpec.LATEST)
        new = {one: ends[one] if before is None else max(starts[one], before) for one in partitions}
        errors: Errors = {
            str(one): CommandError(f"its records end at {ends[one]}: there is no offset {new[one]}.")
            for one in partitions
            if new[one] > ends[one]
        }
        if acts := may_act(options, errors):
            outcome = await client.admin.delete_records(new)
            errors = {str(one): answer.error for one, answer in outcome.items()}
            new |= {one: answer.low_watermark for one, answer in outcome.items() if answer.error is None}
        rows: list[dict[str, object]] = [
            {
                "topic": one.topic,
                "partition": one.partition,
                "log_start_offset": starts[one],
                "log_end_offset": ends[one],
                "new_start_offset": new[one],
                "deleted": new[one] - starts[one],
                "done": acts,
            }
            for one in partitions
            if errors.get(str(one)) is None
        ]
        return rows, errors, acts

    rows, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _COLUMNS, rows, errors=errors)
    return report_outcome("ottla records", errors, acted=acted)


def _before(text: str) -> int | None:
    """The offset; None is the end of each partition."""
    if text == "latest":
        return None
    try:
        offset = int64(text)
    except ValueError:
        offset = -1
    if offset < 0:
        raise UsageError(f"--before {text} is no offset.", remedy="Write a number, or latest to delete everything.")
    return offset


async def _offsets(client: "Client", partitions: "list[TopicPartition]", at: int) -> "dict[TopicPartition, int]":
    found = await client.admin.list_offsets(dict.fromkeys(partitions, at))
    for answer in found.values():
        if answer.error is not None:
            raise command_error(answer.error) from answer.error
    return {partition: answer.offset for partition, answer in found.items()}
