"""`ottla consume`: records of topics, to stdout."""

import argparse
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access import cluster_access, registry_access
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.verbs import add_output_option
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.data.record_io.reading import Reader, Reading
    from ottla.cli.data.record_io.record_decoding import RecordDecoding
    from ottla.cli.data.record_io.record_output import BoundsOf, RecordOutput
    from ottla.cli.words.offset_ranges import OffsetRange
    from ottla.client import Client, ConsumerSettings, GroupSettings, Record
    from ottla.client.consumer import PartitionBounds

    OutputOf = Callable[["Reader"], RecordOutput]

_EPILOG: Final = """\
offsets (--offset):
  start, end            all there is; only what comes from now on
  N, +N, -N             offset N; N after the start; N before the end
  A:B, :B, N-M          from A to before B; ':end' stops at the present end
  @T, @T:U, @:U         by time: ms, seconds, 2024-06-10, 2024-06-10T06:13:20Z, -15m

examples:
  ottla consume orders                              everything, then follow
  ottla consume orders --tail 10 -e                 the last ten of each partition
  ottla consume orders --offset @-15m:end -o jsonl  a quarter of an hour, for jq
  ottla consume orders -f '%p %o %k: %v\\n'          kcat's and rpk's directives
  ottla consume -r 'order.*' --group audit          shared with a group
  ottla consume orders --registry http://127.0.0.1:8081
                                                    decoded with the schemas of a registry
"""

# These show bytes.
_AS_IT_IS: Final = ("raw", "hex")
_REGISTRY_TIMEOUT_MS: Final = 5_000

_CORRUPT_REMEDY: Final = (
    "--skip-corrupt continues after it. `ottla log verify` on the broker's machine shows what is damaged in its files."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to read, and how to show it."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Read records of one or several topics and write their values, one on each line."
    parser.epilog = _EPILOG
    parser.add_argument(
        "topics",
        nargs="+",
        metavar="TOPIC[:PARTITIONS]",
        help="topics, as in orders or orders:0,2; or with -r expressions that match them",
    )
    place = parser.add_argument_group("where to read")
    place.add_argument("-r", "--regex", action="store_true", help="TOPIC is a regular expression for whole names")
    place.add_argument("-p", "--partitions", metavar="N[,...]", help="only these partitions of all topics")
    place.add_argument("--offset", metavar="OFFSET", help="from where to where, see below; default start")
    place.add_argument("--tail", type=int64, metavar="N", help="the last N of each partition: --offset -N")
    place.add_argument("--from", dest="from_time", metavar="TIME", help="from a time on: --offset @TIME")
    place.add_argument("--to", dest="to_time", metavar="TIME", help="up to a time: --offset @:TIME")
    place.add_argument("-g", "--group", metavar="GROUP", help="as a member of a group, which goes on where it was")
    end = parser.add_argument_group("what to read and when to end")
    end.add_argument("-n", "--count", type=int64, metavar="N", help="end after N records")
    end.add_argument("-e", "--exit", action="store_true", help="end where the partitions end now")
    end.add_argument("--isolation", choices=["read_uncommitted", "read_committed"], help="default read_uncommitted")
    end.add_argument(
        "--read-committed",
        dest="isolation",
        action="store_const",
        const="read_committed",
        help="no records of open and aborted transactions",
    )
    end.add_argument("--skip-corrupt", action="store_true", help="step over damaged batches, and say which")
    end.add_argument("--control", action="store_true", help="the markers of transactions too")
    shown = parser.add_argument_group("how records are written")
    shown.add_argument("-f", "--format", metavar="FORMAT", help="by a format string of kcat's or rpk's")
    shown.add_argument("-K", "--key-delimiter", metavar="TEXT", help="the key and this text before each value")
    shown.add_argument("-D", "--delimiter", metavar="TEXT", default="\\n", help="text after each record; default \\n")
    shown.add_argument("-Z", "--null", action="store_true", help="write NULL for null keys and values")
    registry_access.add_registry_option(
        shown, "none: nothing is decoded", "decode keys and values of its schemas to JSON; "
    )
    add_output_option(parser, "raw", "hex", default="value lines")
    cluster_access.add_options(parser)
    parser.set_defaults(run=run, takes_more="topics")


def run(options: argparse.Namespace) -> int:
    """Read until the end, the count, or Ctrl-C."""
    from ottla.cli.data.record_io.reading import Reader
    from ottla.cli.interruption import until_interrupted

    access = cluster_access.cluster_access(options)
    offsets = _offsets(options, time.time_ns() // 1_000_000)
    reading, settings = _reading(options), _settings(options, access, offsets)
    group = _group(options, access, offsets)
    decoding = _decoding(options, access)
    output_of = _output(options, decoding)

    async def read(client: "Client") -> None:
        reader = Reader(client, reading, settings)
        output = output_of(reader)
        await until_interrupted(_write_all(client, reader, reading, offsets, group, output))
        output.end()

    try:
        cluster_access.with_client(access, read)
    finally:
        if decoding is not None:
            decoding.close()
    return ExitCode.DONE


async def _write_all(
    client: "Client",
    reader: "Reader",
    reading: "Reading",
    offsets: "OffsetRange",
    group: "GroupSettings | None",
    output: "RecordOutput",
) -> None:
    from contextlib import aclosing

    from ottla.cli.data.record_io.reading import matching_topics
    from ottla.client import CorruptBatch

    if group is None:
        records = reader.from_range(offsets)
    else:
        await matching_topics(client, reading)
        records = reader.in_group(group)
    async with aclosing(records):
        try:
            async for batch in records:
                output.write(batch)
        except CorruptBatch as error:
            raise CommandError(str(error), remedy=_CORRUPT_REMEDY) from error


def _offsets(options: argparse.Namespace, now_ms: int) -> "OffsetRange":
    from ottla.cli.words.offset_ranges import FROM_START, parse_offset_range

    by_time = options.from_time is not None or options.to_time is not None
    if sum((options.offset is not None, options.tail is not None, by_time)) > 1:
        raise UsageError("--offset, --tail and --from/--to say the same in three ways: give one of them.")
    text = options.offset
    if options.tail is not None:
        if options.tail < 0:
            raise UsageError(f"--tail {options.tail}: it is a number of records.")
        text = f"-{options.tail}"
    elif by_time:
        first, last = ((time or "").removeprefix("@") for time in (options.from_time, options.to_time))
        text = f"@{first}:{last}"
    try:
        return FROM_START if text is None else parse_offset_range(text, now_ms)
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _reading(options: argparse.Namespace) -> "Reading":
    from ottla.cli.data.record_io.reading import Reading, topic_pattern

    if options.count is not None and options.count < 1:
        raise UsageError(f"-n {options.count}: it is a number of records, from 1.")
    if options.regex:
        try:
            topic_pattern(options.topics)
        except re.error as error:
            raise UsageError(f"{' '.join(options.topics)} is not a regular expression: {error}.") from None
    topics, chosen = (tuple(options.topics), {}) if options.regex else _chosen(options)
    return Reading(
        topics,
        is_pattern=options.regex,
        partitions=_numbers(options.partitions),
        partitions_by_topic=chosen,
        count=options.count,
        stops_at_end=options.exit,
        skips_corrupt=options.skip_corrupt,
    )


def _chosen(options: argparse.Namespace) -> "tuple[tuple[str, ...], dict[str, tuple[int, ...]]]":
    """Topics by name, and the partitions of those that were written with some."""
    from ottla.cli.words.partitions import parse_selection

    selections = list(map(parse_selection, options.topics))
    whole = {selection.topic for selection in selections if selection.partitions is None}
    chosen: dict[str, tuple[int, ...]] = {}
    for selection in selections:
        if selection.partitions is not None and selection.topic not in whole:
            chosen[selection.topic] = tuple(dict.fromkeys((*chosen.get(selection.topic, ()), *selection.partitions)))
    if chosen and (options.partitions is not None or options.group is not None):
        other, why = "--group", "the group decides which partitions each of its members reads"
        if options.partitions is not None:
            other, why = "-p", "give one of them"
        raise UsageError(f"TOPIC:PARTITIONS and {other}: {why}.")
    return tuple(selection.topic for selection in selections), chosen


def _numbers(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        numbers = tuple(dict.fromkeys(int32(part) for part in text.split(",")))
    except ValueError:
        numbers = (-1,)
    if min(numbers) < 0:
        raise UsageError(f"-p {text}: write numbers of partitions, as in -p 0,3.")
    return numbers


def _settings(
    options: argparse.Namespace, access: cluster_access.ClusterAccess, offsets: "OffsetRange"
) -> "ConsumerSettings":
    from ottla.cli.access.client_properties import consumer_settings
    from ottla.cli.words.offset_ranges import END
    from ottla.client import IsolationLevel, OffsetReset

    reset = OffsetReset.LATEST if offsets.start == END else OffsetReset.EARLIEST
    settings = consumer_settings(access.properties, offset_reset=reset)
    if options.isolation is not None:
        settings = replace(settings, isolation=IsolationLevel[options.isolation.upper()])
    return replace(settings, include_control=options.control)


def _group(
    options: argparse.Namespace, access: cluster_access.ClusterAccess, offsets: "OffsetRange"
) -> "GroupSettings | None":
    from ottla.cli.access.client_properties import group_settings
    from ottla.cli.words.offset_ranges import END, START

    if options.group is None:
        return None
    if options.partitions is not None:
        raise UsageError("-p and --group: the group decides which partitions each of its members reads.")
    if offsets.end is not None or offsets.start not in (START, END):
        raise UsageError(
            "with --group, --offset is start or end: where to begin if the group has committed nothing.",
            remedy="To move a group: ottla groups reset",
        )
    return group_settings(options.group, access.properties)


def _decoding(options: argparse.Namespace, access: cluster_access.ClusterAccess) -> "RecordDecoding | None":
    """Reading goes on while a registry is away, so it is not waited for long."""
    settings = registry_access.registry_settings(options, access.properties)
    if settings is None or getattr(options, "output", None) in _AS_IT_IS:
        return None
    from ottla.cli.data.record_io.record_decoding import RecordDecoding

    brief = replace(settings, request_timeout_ms=_REGISTRY_TIMEOUT_MS, retries_max=0)
    return RecordDecoding(
        lambda: registry_access.open_registry(brief), lambda told: print(f"ottla consume: {told}", file=sys.stderr)
    )


def _output(options: argparse.Namespace, decoding: "RecordDecoding | None") -> "OutputOf":
    """What decoding there is, is done in front of the output, or by those that say more than a text."""
    from ottla.cli.data.record_io import record_output

    named = getattr(options, "output", None)
    if decoding is None:
        return _plain_output(options)
    if named in ("json", "jsonl"):
        kind = record_output.JsonOutput if named == "json" else record_output.JsonLinesOutput
        return lambda _: kind(decoding.json_of)
    plain = _plain_output(options)
    return lambda reader: record_output.DecodedOutput(plain(reader), decoding)


def _plain_output(options: argparse.Namespace) -> "OutputOf":
    from ottla.cli.data.record_io import record_output
    from ottla.cli.data.record_io.format_strings import compile_format
    from ottla.cli.data.record_io.format_tokens import unescaped

    named = getattr(options, "output", None)
    if options.format is not None and named is not None:
        raise UsageError(f"-f and -o {named}: give one of them.")
    null = b"NULL" if options.null else b""
    try:
        if options.format is not None:
            part = compile_format(options.format, null)
            return lambda reader: record_output.FormatOutput(part, _bounds_of(reader))
        if named is None:
            key_delimiter = None if options.key_delimiter is None else unescaped(options.key_delimiter)
            delimiter = unescaped(options.delimiter)
            return lambda _: record_output.LineOutput(delimiter, key_delimiter, null)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    if named == "raw":
        return lambda _: record_output.LineOutput(delimiter=b"")
    kinds = {
        "hex": record_output.HexOutput,
        "json": record_output.JsonOutput,
        "jsonl": record_output.JsonLinesOutput,
        "table": record_output.TableOutput,
    }
    return lambda _: kinds[named]()


def _bounds_of(reader: "Reader") -> "BoundsOf":
    from ottla.client import TopicPartition

    def bounds(record: "Record") -> "PartitionBounds | None":
        consumer = reader.consumer
        return None if consumer is None else consumer.bounds(TopicPartition(record.topic, record.partition))

    return bounds
