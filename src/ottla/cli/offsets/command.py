"""`ottla offsets`: offsets of partitions, by place or by time."""

import argparse
import time
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.exits import ExitCode, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.moments import parse_moment
from ottla.cli.words.partitions import TopicSelection, parse_selection, resolve_selections

if TYPE_CHECKING:
    from ottla.client import Client

_COLUMNS = ("topic", "partition", "offset", "timestamp_ms", "leader_epoch")

# Places in a partition, by their names in Kafka's tools and the numbers that stand for them in requests.
PLACES: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of offsets."""
    verbs = Verbs(parser)
    getting = verbs.add(
        "get",
        get_offsets,
        "get the offsets of topics' partitions at a place or a time",
        epilog="examples: ottla offsets get orders | ottla offsets get orders:0,1 payments --time earliest | "
        "ottla offsets get orders --time @-15m",
    )
    getting.add_argument("topic", nargs="*", metavar="TOPIC[:PARTITIONS]", help="default: all topics")
    getting.add_argument(
        "--time",
        default="latest",
        metavar="WHEN",
        help=f"{', '.join(PLACES)}, or a time: -15m, @DATE, @MILLISECONDS, @SECONDS; default latest",
    )


def get_offsets(options: argparse.Namespace) -> int:
    """The offset in each partition; none where no record is that young."""
    at = _place_or_time(options.time)
    selections = list(map(parse_selection, options.topic))

    async def ask(client: "Client") -> list[dict[str, object]]:
        wanted = selections or [
            TopicSelection(topic.name) for topic in await client.admin.list_topics(include_internal=False)
        ]
        found = await client.admin.list_offsets(dict.fromkeys(await resolve_selections(client, wanted), at))
        for answer in found.values():
            if answer.error is not None:
                raise command_error(answer.error) from answer.error
        return [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "offset": _known(answer.offset),
                "timestamp_ms": _known(answer.timestamp_ms),
                "leader_epoch": _known(answer.leader_epoch),
            }
            for partition, answer in found.items()
        ]

    print_rows(output_format(options), _COLUMNS, with_client(cluster_access(options), ask))
    return ExitCode.DONE


def _place_or_time(text: str) -> int:
    if text in PLACES:
        return PLACES[text]
    try:
        return parse_moment(text.removeprefix("@"), time.time_ns() // 1_000_000)
    except ValueError as error:
        raise UsageError(f"--time {text}: {error}.") from None


def _known(number: int) -> int | None:
    return None if number < 0 else number
