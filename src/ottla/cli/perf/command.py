"""`ottla perf`: how fast a cluster accepts and serves records, and how long one takes from end to end."""

import argparse
import json
import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import ClusterAccess, cluster_access, with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError, exit_code_of
from ottla.cli.output import OutputFormat, print_object
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.perf.meter import Meter, Tally
    from ottla.client import Client, ProducerSettings

_PRODUCE_EPILOG: Final = """\
By default records go one by one through this client's producer, and both are measured. With --ready-batches the cluster
alone is: batches are made once, sent --in-flight at a time, and a latency is that of a request.
example: ottla perf produce loads -n 1000000 --size 1024 --ready-batches
"""
_CONSUME_EPILOG: Final = """\
By default records are opened, as an application would; with --ready-batches they are fetched and counted only.
example: ottla perf consume loads -n 1000000
"""
_E2E_EPILOG: Final = """\
A record is written when the one before it has come back. example: ottla perf e2e pings -n 1000 --size 100
"""
_TIMEOUT_MS: Final = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of perf."""
    verbs = Verbs(parser)
    produce = verbs.add("produce", produce_load, "measure producing", epilog=_PRODUCE_EPILOG)
    _add_load(produce, count=100_000)
    _add_producer(produce)
    produce.add_argument("--rate", type=float, metavar="N", help="records a second; default as fast as it goes")
    produce.add_argument("--warmup", type=int64, default=0, metavar="N", help="leave the first N out of the result")
    produce.add_argument("--batch-bytes", type=int32, metavar="N", help="size of a batch; default 16384")
    produce.add_argument("--linger-ms", type=int32, metavar="MS", help="how long a batch waits for records; default 5")
    produce.add_argument("-z", "--compression", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd")
    produce.add_argument("--ready-batches", action="store_true", help="send batches that were made before")
    produce.add_argument(
        "--in-flight", type=int32, default=5, metavar="N", help="of those, so many at a time; default 5"
    )
    consume = verbs.add("consume", consume_load, "measure consuming", epilog=_CONSUME_EPILOG)
    _add_load(consume, count=100_000)
    consume.add_argument("--group", metavar="GROUP", help="as a member of a group; default alone, from the start")
    consume.add_argument("--ready-batches", action="store_true", help="fetch batches and open none")
    consume.add_argument(
        "--timeout-ms", type=int32, default=_TIMEOUT_MS, metavar="MS", help="give up after so long without a record"
    )
    e2e = verbs.add("e2e", round_trips, "measure the way of a record from end to end", epilog=_E2E_EPILOG)
    _add_load(e2e, count=1_000)
    _add_producer(e2e)


def _add_load(parser: argparse.ArgumentParser, count: int) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("-n", "--count", type=int64, default=count, metavar="N", help=f"records; default {count}")
    parser.add_argument(
        "--interval", type=float, default=5.0, metavar="SECONDS", help="between lines of progress; default 5"
    )


def _add_producer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=int32, default=100, metavar="BYTES", help="of a value; default 100")
    parser.add_argument("--acks", choices=["all", "-1", "0", "1"], help="whose word is waited for; default all")


def produce_load(options: argparse.Namespace) -> int:
    """Produce, and tell rates and latencies."""
    from ottla.cli.perf.producing import ProduceLoad, ProduceRun

    _check_counts(options, "count", "in_flight")
    access = cluster_access(options)
    settings = _producer_settings(options, access)
    value = os.urandom(options.size)
    meter = _meter(options, warmup_records=options.warmup)
    run = ProduceRun(ProduceLoad(options.topic, options.count, lambda _: value, options.rate), meter)

    async def work(client: "Client") -> None:
        if options.ready_batches:
            await run.by_batch(client, settings, options.in_flight)
        else:
            await run.by_record(client.producer(settings))

    with_client(access, work)
    meter.finish()
    _show(options, meter.steady or meter.total, failed=run.failed)
    if run.failures:
        first = run.failures[0]
        raise CommandError(f"{run.failed} records were not written: {first}", exit_code_of(first))
    return ExitCode.DONE


def consume_load(options: argparse.Namespace) -> int:
    """Consume, and tell rates."""
    from ottla.cli.access.client_properties import consumer_settings, group_settings
    from ottla.cli.data.record_io.reading import partitions_of, resolve
    from ottla.cli.perf.consuming import consume_batches, consume_records
    from ottla.cli.words.offset_ranges import FROM_START
    from ottla.client import OffsetReset

    _check_counts(options, "count")
    if options.group is not None and options.ready_batches:
        raise UsageError("--group and --ready-batches: batches are read alone; give one of them.")
    access = cluster_access(options)
    settings = consumer_settings(access.properties, offset_reset=OffsetReset.EARLIEST)
    group = None if options.group is None else group_settings(options.group, access.properties)

    async def work(client: "Client") -> "tuple[Meter, bool]":
        partitions = await partitions_of(client, {options.topic: ()})
        bounds = await resolve(client, partitions, FROM_START, settings.isolation)
        starts = {partition: start for partition, (start, _) in bounds.items()}
        meter = _meter(options)
        if options.ready_batches:
            return meter, await consume_batches(
                client, starts, settings.limits, options.count, options.timeout_ms, meter
            )
        async with client.consumer(settings, group) as consumer:
            if group is not None:
                consumer.subscribe([options.topic])
            else:
                consumer.assign(starts)
                for partition, start in starts.items():
                    consumer.seek(partition, start)
            return meter, await consume_records(consumer, options.count, options.timeout_ms, meter)

    meter, is_complete = with_client(access, work)
    meter.finish()
    _show(options, meter.total)
    if not is_complete:
        raise CommandError(
            f"no record came for {options.timeout_ms} ms, after {meter.records} of {options.count}.",
            ExitCode.UNAVAILABLE,
            remedy="Fewer with -n, longer with --timeout-ms.",
        )
    return ExitCode.DONE


def round_trips(options: argparse.Namespace) -> int:
    """Send a record, wait for it, and so on."""
    from ottla.cli.perf.round_trips import RoundTrips, travel
    from ottla.client import ConsumerSettings

    _check_counts(options, "count")
    access = cluster_access(options)
    settings = replace(_producer_settings(options, access), linger_ms=0)
    if settings.acks == 0:
        raise UsageError("--acks 0: brokers would not say when a record is written; use all or 1.")
    trips = RoundTrips(options.topic, options.count, options.size)

    async def work(client: "Client") -> "Meter":
        partition_count = await client.partition_count(options.topic, auto_create=True)
        async with client.producer(settings) as producer, client.consumer(ConsumerSettings()) as consumer:
            meter = _meter(options)

            def each(_: int, latency_ms: float) -> None:
                meter.add(1, options.size, time.perf_counter(), latency_ms)

            await travel(trips, list(range(partition_count)), producer, consumer, each)
            return meter

    meter = with_client(access, work)
    meter.finish()
    _show(options, meter.total)
    return ExitCode.DONE


def _check_counts(options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: it is a number, from 1.")
    if getattr(options, "size", 0) < 0:
        raise UsageError(f"--size {options.size}: it is a number of bytes.")


def _producer_settings(options: argparse.Namespace, access: ClusterAccess) -> "ProducerSettings":
    from ottla.cli.access.client_properties import producer_settings

    names = {
        "acks": "acks",
        "batch_bytes": "batch.size",
        "linger_ms": "linger.ms",
        "compression": "compression.type",
    }
    given = {name: getattr(options, option, None) for option, name in names.items()}
    return producer_settings(
        {**access.properties, **{name: str(value) for name, value in given.items() if value is not None}}
    )


def _meter(options: argparse.Namespace, warmup_records: int = 0) -> "Meter":
    from ottla.cli.perf.meter import Meter

    is_lines = output_format(options) is OutputFormat.JSONL

    def report(window: "Tally") -> None:
        if is_lines:
            print(json.dumps({"kind": "progress", **window.row()}), flush=True)
        else:
            print(_sentence(window), file=sys.stderr, flush=True)

    return Meter(time.perf_counter(), options.interval, report, warmup_records=warmup_records)


def _sentence(window: "Tally") -> str:
    text = f"{window.records} records, {window.records_per_s:.0f}/s, {window.mebibytes_per_s:.2f} MiB/s"
    if window.latencies.count:
        p50_ms, p99_ms = window.latencies.percentiles_ms([0.5, 0.99])
        text += f", p50 {p50_ms:.2f} ms, p99 {p99_ms:.2f} ms, max {window.latencies.max_ms:.2f} ms"
    return text


def _show(options: argparse.Namespace, tally: "Tally", **more: object) -> None:
    form = output_format(options)
    kind = {"kind": "summary"} if form is OutputFormat.JSONL else {}
    print_object(form, {**kind, **tally.row(), **more})
