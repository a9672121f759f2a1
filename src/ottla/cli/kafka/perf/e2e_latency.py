"""`kafka-e2e-latency`: how long a record takes from end to end, with Apache's flags, or its older positional form."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import ClusterAccess, access, properties_of_file, with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import report_failure
from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.perf.latencies import Latencies
    from ottla.cli.perf.round_trips import RoundTrips
    from ottla.client import Client, ConsumerSettings, ProducerSettings

_WORDS: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config")
_REMARK: Final = (
    "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named "
    "arguments instead: --bootstrap-server, --topic, --num-records, --producer-acks, --record-size, --command-config"
)
_EACH: Final = 1_000
_FRACTIONS: Final = (0.5, 0.99, 0.999)


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    if arguments and not any(word.startswith("--") for word in arguments):
        if len(arguments) not in (5, 6):
            parser.error(
                f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(arguments)}. "
                "Usage: bootstrap-server topic num-records producer-acks record-size [optional] command-config"
            )
        print(_REMARK)
        arguments = [part for name, word in zip(_WORDS, arguments, strict=False) for part in (f"--{name}", word)]
    options = parser.parse(arguments)
    _check(parser, options)
    try:
        return _run(options)
    except CommandError as error:
        return report_failure(error)


def _parser() -> ToolParser:
    parser = ToolParser(
        "kafka-e2e-latency",
        "This tool measures end-to-end latency in Kafka by sending messages and timing their reception.",
    )
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT[,...]")
    parser.add_argument("--topic", metavar="TOPIC", help="made if it is not there")
    parser.add_argument("--num-records", type=int64, metavar="COUNT")
    parser.add_argument("--producer-acks", metavar="ACKS", help="1 or all")
    parser.add_argument("--record-size", type=int32, metavar="BYTES")
    parser.add_argument("--record-key-size", type=int32, default=0, metavar="BYTES")
    parser.add_argument("--num-headers", type=int32, default=0, metavar="COUNT")
    parser.add_argument("--record-header-key-size", type=int32, default=0, metavar="BYTES")
    parser.add_argument("--record-header-size", type=int32, default=0, metavar="BYTES", help="-1 for null values")
    parser.add_argument("--command-config", metavar="FILE", help="client properties")
    return parser


def _check(parser: ToolParser, options: argparse.Namespace) -> None:
    parser.require(options, "bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
    if options.producer_acks not in ("1", "all"):
        parser.error(
            "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. "
            "Please use '1' or 'all'."
        )


def _run(options: argparse.Namespace) -> int:
    from ottla.cli.access.client_properties import consumer_settings, producer_settings
    from ottla.cli.perf.latencies import Latencies
    from ottla.cli.perf.round_trips import RoundTrips

    properties = {} if options.command_config is None else properties_of_file(options.command_config)
    producing = replace(producer_settings({**properties, "acks": options.producer_acks}), linger_ms=0)
    header_bytes = options.record_header_size
    trips = RoundTrips(
        options.topic,
        options.num_records,
        options.record_size,
        options.record_key_size,
        options.num_headers,
        options.record_header_key_size,
        None if header_bytes < 0 else header_bytes,
    )
    latencies = Latencies()
    cluster = access(options.bootstrap_server, properties)
    _travel(cluster, trips, producing, consumer_settings(properties), latencies)
    p50, p99, p999 = map(int, latencies.percentiles_ms(_FRACTIONS))
    print(f"Avg latency: {latencies.average_ms:.4f} ms")
    print(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")
    return ExitCode.DONE


def _travel(
    cluster: ClusterAccess,
    trips: "RoundTrips",
    producing: "ProducerSettings",
    consuming: "ConsumerSettings",
    latencies: "Latencies",
) -> None:
    from ottla.cli.perf.round_trips import travel

    def each(number: int, latency_ms: float) -> None:
        latencies.add(latency_ms)
        if number % _EACH == 0:
            print(f"{number}\t{latency_ms}", flush=True)

    async def work(client: "Client") -> None:
        await _make_topic(client, trips.topic)
        topic = await client.cluster.topic(trips.topic)
        async with client.producer(producing) as producer, client.consumer(consuming) as consumer:
            await travel(trips, sorted(topic.partitions), producer, consumer, each)

    with_client(cluster, work)


async def _make_topic(client: "Client", name: str) -> None:
    from ottla.client import NewTopic

    if any(topic.name == name for topic in await client.admin.list_topics(include_internal=True)):
        return
    print(f'Topic "{name}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
    created = await client.admin.create_topics([NewTopic(name, 1, 1)])
    error = created[name].error
    if error is not None:
        raise error
