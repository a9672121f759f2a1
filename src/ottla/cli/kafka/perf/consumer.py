"""`kafka-consumer-perf-test`: how fast records are consumed, with Apache's flags and columns."""

import argparse
import random
import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import report_failure
from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.perf.consuming import RebalanceClock
    from ottla.cli.perf.meter import Tally
    from ottla.client import Client

_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
    "fetch.nMsg.sec"
)
_ENDLESS_S: Final = float("inf")
# Letters of Java's SimpleDateFormat.
_DATE_LETTERS: Final = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "hh": "%I",
    "mm": "%M",
    "ss": "%S",
    "a": "%p",
}
_DATE_TOKEN: Final = re.compile(r"SSS|yyyy|yy|MM|dd|HH|hh|mm|ss|a")


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    _check(parser, options)
    if options.messages is not None:
        print("Warning: --messages is deprecated. Use --num-records instead.")
    try:
        return _run(options)
    except CommandError as error:
        return report_failure(error)


def _parser() -> ToolParser:
    parser = ToolParser("kafka-consumer-perf-test", "This tool is used to verify the consumer performance.")
    client_options.add_client_options(parser, "consumer")
    parser.add_argument("--broker-list", dest="bootstrap_server", help=argparse.SUPPRESS)
    parser.add_argument("--topic", metavar="TOPIC", help="what to read")
    parser.add_argument("--include", metavar="REGEX", help="topics to read, by a regular expression")
    parser.add_argument("--num-records", type=int64, metavar="COUNT")
    parser.add_argument("--messages", type=int64, help=argparse.SUPPRESS)
    parser.add_argument("--group", metavar="GROUP", help="default a new one")
    parser.add_argument("--from-latest", action="store_true", help="where nothing is committed, from the end")
    parser.add_argument("--fetch-size", type=int32, default=1_048_576, metavar="BYTES", help="of one partition")
    parser.add_argument("--timeout", type=int32, nargs="?", const=10_000, default=10_000, metavar="MS")
    parser.add_argument("--reporting-interval", type=int32, default=5_000, metavar="MS")
    parser.add_argument("--show-detailed-stats", action="store_true", help="a line for each interval")
    parser.add_argument("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", metavar="FORMAT")
    parser.add_argument("--hide-header", action="store_true")
    parser.add_argument("--print-metrics", action="store_true", help="not available")
    parser.add_argument("--socket-buffer-size", type=int32, metavar="BYTES", help="has no effect")
    parser.add_argument("--threads", type=int32, help=argparse.SUPPRESS)
    parser.add_argument("--num-fetch-threads", type=int32, help=argparse.SUPPRESS)
    return parser


def _check(parser: ToolParser, options: argparse.Namespace) -> None:
    parser.require(options, "bootstrap-server")
    if (options.topic is None) == (options.include is None):
        parser.error("Exactly one of the following arguments is required: [topic], [include]")
    if (options.messages is None) == (options.num_records is None):
        parser.error("Exactly one of the following arguments is required: [messages], [num-records]")
    if options.reporting_interval <= 0:
        parser.error("Reporting interval must be greater than 0.")


def _run(options: argparse.Namespace) -> int:
    from ottla.cli.access.client_properties import consumer_settings, group_settings
    from ottla.cli.perf.consuming import RebalanceClock, consume_records
    from ottla.cli.perf.meter import Meter

    properties = {
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "max.partition.fetch.bytes": str(options.fetch_size),
        "client.id": "perf-consumer-client",
    } | client_options.client_properties(options)
    group_id = options.group or properties.get("group.id") or f"perf-consumer-{random.randrange(100_000)}"
    settings, group = consumer_settings(properties), group_settings(group_id, properties)
    count = options.num_records if options.messages is None else options.messages
    if not options.hide_header:
        print(f"{'time, threadId' if options.show_detailed_stats else 'start.time, end.time'}, {_COLUMNS}")

    async def work(client: "Client") -> bool:
        clock = RebalanceClock(time.perf_counter())
        report = _Report(options.date_format, clock)
        interval_s = options.reporting_interval / 1000 if options.show_detailed_stats else _ENDLESS_S
        meter = Meter(time.perf_counter(), interval_s, report.detail)
        async with client.consumer(settings, group) as consumer:
            consumer.subscribe([options.topic] if options.topic else re.compile(options.include), clock)
            is_complete = await consume_records(consumer, count, options.timeout, meter)
            ended_s = time.perf_counter()
        meter.finish()
        if not is_complete:
            print(
                f"WARNING: Exiting before consuming the expected number of records: timeout ({options.timeout} ms) "
                "exceeded. You can use the --timeout option to increase the timeout."
            )
        if not options.show_detailed_stats:
            report.summary(meter.total, ended_s)
        return is_complete

    with_client(client_options.cluster(options, properties), work)
    return ExitCode.DONE


class _Report:
    """Apache's lines; all but the first two columns are alike."""

    def __init__(self, date_format: str, clock: "RebalanceClock") -> None:
        self._date_format = date_format
        self._clock = clock
        self._started = datetime.now().astimezone()
        self._started_s = time.perf_counter()
        self._mebibytes = 0.0
        self._records = 0
        self._waited_s = 0.0

    def detail(self, window: "Tally") -> None:
        self._mebibytes += window.mebibytes
        self._records += window.records
        waited_s = self._clock.waited_s - self._waited_s
        self._waited_s = self._clock.waited_s
        rest = self._columns(self._mebibytes, self._records, window, window.seconds, waited_s)
        print(f"{self._date(datetime.now().astimezone())}, 0, {rest}", flush=True)

    def summary(self, total: "Tally", ended_s: float) -> None:
        seconds = max(ended_s - self._started_s, 1e-3)
        rest = self._columns(total.mebibytes, total.records, total, seconds, self._clock.waited_s)
        print(f"{self._date(self._started)}, {self._date(datetime.now().astimezone())}, {rest}")

    def _columns(self, mebibytes: float, records: int, of: "Tally", seconds: float, waited_s: float) -> str:
        fetching_s = max(seconds - waited_s, 1e-3)
        return (
            f"{mebibytes:.4f}, {of.mebibytes / seconds:.4f}, {records}, {of.records / seconds:.4f}, "
            f"{waited_s * 1000:.0f}, {fetching_s * 1000:.0f}, {of.mebibytes / fetching_s:.4f}, "
            f"{of.records / fetching_s:.4f}"
        )

    def _date(self, moment: datetime) -> str:
        def part(found: re.Match[str]) -> str:
            token = found[0]
            return f"{moment.microsecond // 1000:03d}" if token == "SSS" else moment.strftime(_DATE_LETTERS[token])

        return _DATE_TOKEN.sub(part, self._date_format)
