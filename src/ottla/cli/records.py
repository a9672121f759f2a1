"""`ottla records`: deleting the oldest records of partitions."""

import argparse
import sys
from typing import TYPE_CHECKING

from ottla.cli.cluster_access import cluster_access, with_client
from ottla.cli.exits import UsageError, command_error
from ottla.cli.outcomes import report_errors
from ottla.cli.output import print_rows
from ottla.cli.partitions import parse_selection, resolve_selections
from ottla.cli.verbs import Verbs, output_format

if TYPE_CHECKING:
    from ottla.client import Client, KafkaError, TopicPartition

_COLUMNS = ("topic", "partition", "log_start_offset", "log_end_offset", "new_start_offset", "deleted")


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
    deleting.add_argument("--execute", action="store_true", help="do it, instead of showing what would be deleted")


def delete_records(options: argparse.Namespace) -> int:
    """Show what would go, and with --execute move the start of each partition."""
    before = _before(options.before)
    selections = list(map(parse_selection, options.topic))

    async def work(client: "Client") -> "tuple[list[dict[str, object]], dict[TopicPartition, KafkaError]]":
        from ottla.client import OffsetSpec

        partitions = await resolve_selections(client, selections)
        starts = await _offsets(client, partitions, OffsetSpec.EARLIEST)
        ends = await _offsets(client, partitions, OffsetSpec.LATEST)
        new = {one: ends[one] if before is None else max(starts[one], before) for one in partitions}
        errors: dict[TopicPartition, KafkaError] = {}
        if options.execute:
            outcome = await client.admin.delete_records(new)
            errors = {one: answer.error for one, answer in outcome.items() if answer.error is not None}
            new |= {one: answer.low_watermark for one, answer in outcome.items() if answer.error is None}
        rows: list[dict[str, object]] = [
            {
                "topic": one.topic,
                "partition": one.partition,
                "log_start_offset": starts[one],
                "log_end_offset": ends[one],
                "new_start_offset": new[one],
                "deleted": min(new[one], ends[one]) - starts[one],
            }
            for one in partitions
            if one not in errors
        ]
        return rows, errors

    rows, errors = with_client(cluster_access(options), work)
    print_rows(output_format(options), _COLUMNS, rows)
    if not options.execute:
        print("Nothing was changed: add --execute to do it.", file=sys.stderr)
    return report_errors("ottla records", {str(partition): error for partition, error in errors.items()})


def _before(text: str) -> int | None:
    """The offset; None is the end of each partition."""
    if text == "latest":
        return None
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"--before {text} is no offset.", remedy="Write a number, or latest to delete everything.")
    return int(text)


async def _offsets(client: "Client", partitions: "list[TopicPartition]", at: int) -> "dict[TopicPartition, int]":
    found = await client.admin.list_offsets(dict.fromkeys(partitions, at))
    for answer in found.values():
        if answer.error is not None:
            raise command_error(answer.error) from answer.error
    return {partition: answer.offset for partition, answer in found.items()}
