"""`kafka-producer-perf-test`: how fast records are produced, with Apache's flags and sentences.

Records go one by one through this client's producer: what it measures is this client and the cluster together.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import report_failure
from ottla.cli.kafka.frame.options import ClientToolParser
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.perf.meter import Tally
    from ottla.client import Client

_TRANSACTION_MS: Final = 3_000
_FRACTIONS: Final = (0.5, 0.95, 0.99, 0.999)
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OLD_NAMES: Final = {
    "producer_props": ("producer-props", "command-property"),
    "old_config": ("producer.config", "command-config"),
}


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    _check(parser, options)
    client_options.remark(options, _OLD_NAMES, "Option ")
    try:
        return _run(options)
    except CommandError as error:
        return report_failure(error)


def _parser() -> ClientToolParser:
    parser = ClientToolParser("kafka-producer-perf-test", "This tool is used to verify the producer performance.")
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT[,...]")
    parser.add_argument("--topic", metavar="TOPIC", help="where to")
    parser.add_argument("--num-records", type=int64, metavar="COUNT")
    parser.add_argument("--throughput", type=float, metavar="RATE", help="records a second; -1 for all there is")
    parser.add_argument("--record-size", type=int32, metavar="BYTES")
    parser.add_argument("--payload-file", metavar="FILE", help="values, one of which is chosen for each record")
    parser.add_argument("--payload-delimiter", default="\\n", metavar="TEXT", help="between the values of the file")
    parser.add_argument("--payload-monotonic", action="store_true", help="values are numbers from 0")
    parser.add_argument("--command-property", nargs="+", action="extend", default=[], metavar="KEY=VALUE")
    parser.add_argument("--producer-props", nargs="+", action="extend", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--command-config", metavar="FILE", help="producer properties")
    parser.add_argument("--producer.config", dest="old_config", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--print-metrics", action="store_true", help="not available")
    parser.add_argument("--transactional-id", metavar="ID", help="in transactions of this id")
    parser.add_argument(
        "--transaction-duration-ms",
        type=int32,
        metavar="MS",
        help="when each transaction is committed; default 3000 with an id",
    )
    parser.add_argument("--warmup-records", type=int64, default=0, metavar="COUNT", help="left out of a second result")
    parser.add_argument("--reporting-interval", type=int32, default=5_000, metavar="MS")
    parser.set_defaults(old_property=[])
    return parser


def _check(parser: ClientToolParser, options: argparse.Namespace) -> None:
    parser.require(options, "topic", "num-records", "throughput")
    given = (options.record_size is not None, options.payload_file is not None, options.payload_monotonic)
    if sum(given) != 1:
        parser.error("exactly one of --record-size, --payload-file and --payload-monotonic is required")
    if options.record_size is not None and options.record_size < 0:
        parser.error("--record-size should be greater than zero.")
    if options.warmup_records < 0 or options.warmup_records >= max(1, options.num_records):
        parser.error("The value for --warmup-records must be at least 0 and fewer than the number of records.")
    if options.reporting_interval <= 0:
        parser.error("--reporting-interval must be positive")
    if options.transaction_duration_ms is not None and options.transaction_duration_ms <= 0:
        parser.error("--transaction-duration-ms should be greater than zero.")


def _payload(options: argparse.Namespace) -> Callable[[int], bytes]:
    if options.payload_monotonic:
        return lambda number: b"%d" % number
    chosen = random.Random(0)
    if options.payload_file is None:
        value = bytes(chosen.choices(_LETTERS, k=options.record_size))
        return lambda _: value
    from ottla.cli.data.record_io.format_tokens import unescaped

    try:
        values = Path(options.payload_file).read_bytes().split(unescaped(options.payload_delimiter))
    except (OSError, ValueError) as error:
        raise UsageError(f"{options.payload_file} cannot be read: {error}") from None
    values = [value for value in values if value]
    if not values:
        raise UsageError(f"{options.payload_file} holds no payloads.")
    return lambda _: chosen.choice(values)


def _run(options: argparse.Namespace) -> int:
    from ottla.cli.access.client_properties import producer_settings
    from ottla.cli.perf.meter import Meter
    from ottla.cli.perf.producing import ProduceLoad, ProduceRun
    from ottla.protocol.uuids import uuid_to_text

    options.command_property += options.producer_props
    properties = {"client.id": "perf-producer-client"} | client_options.client_properties(options)
    if options.bootstrap_server is None and "bootstrap.servers" not in properties:
        raise UsageError("At least one of --bootstrap-server, --command-property bootstrap.servers=... is required.")
    if options.transactional_id is not None:
        properties["transactional.id"] = options.transactional_id
    elif options.transaction_duration_ms is not None:
        properties.setdefault("transactional.id", f"performance-producer-{uuid_to_text(uuid4().bytes)}")
    settings = producer_settings(properties, may_have_transactions=True)
    transaction_ms = options.transaction_duration_ms or _TRANSACTION_MS
    rate = options.throughput if options.throughput > 0 else None
    load = ProduceLoad(options.topic, options.num_records, _payload(options), rate)
    if options.warmup_records:
        print(
            f"Warmup first {options.warmup_records} records. Steady state results will print after the complete test "
            "summary."
        )

    async def work(client: "Client") -> tuple[Meter, ProduceRun]:
        is_warm = False

        def report(window: "Tally") -> None:
            nonlocal is_warm
            if meter.steady is not None and not is_warm:
                is_warm = True
                print("In steady state.")
            print(_progress(window), flush=True)

        interval_s = options.reporting_interval / 1000
        meter = Meter(time.perf_counter(), interval_s, report, warmup_records=options.warmup_records)
        run = ProduceRun(load, meter)
        producer = client.producer(settings)
        if settings.transactional_id is None:
            await run.by_record(producer)
        else:
            await producer.init_transactions()
            await run.by_record(producer, transaction_ms)
        return meter, run

    meter, run = with_client(client_options.cluster(options, properties), work)
    meter.finish()
    print(_summary(meter.total, "records"))
    if meter.steady is not None:
        print(_summary(meter.steady, "steady state records"))
    if options.print_metrics:
        print("Metrics of a Java client are not available.")
    if run.failures:
        return report_failure(run.failures[0])
    return ExitCode.DONE


def _progress(window: "Tally") -> str:
    return (
        f"{window.records} records sent, {window.records_per_s:.1f} records/sec ({window.mebibytes_per_s:.2f} MB/sec), "
        f"{window.latencies.average_ms:.1f} ms avg latency, {window.latencies.max_ms:.1f} ms max latency."
    )


def _summary(tally: "Tally", what: str) -> str:
    p50, p95, p99, p999 = map(int, tally.latencies.percentiles_ms(_FRACTIONS))
    return (
        f"{tally.records} {what} sent, {tally.records_per_s:f} records/sec ({tally.mebibytes_per_s:.2f} MB/sec), "
        f"{tally.latencies.average_ms:.2f} ms avg latency, {tally.latencies.max_ms:.2f} ms max latency, "
        f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
    )
