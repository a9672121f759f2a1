"""`kafka-console-producer`: lines of stdin into records, with Apache's flags.

A record that cannot be delivered is reported on stderr and the next ones are sent, unless `--sync` is set. Apache's
tool does the same, and still ends with 0.
"""

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import properties_of_file, with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.kafka.console.line_reader import LineReader, UnreadableLine
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import as_java, log_error, report_failure
from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int64

if TYPE_CHECKING:
    from ottla.cli.data.deliveries import Outcome
    from ottla.cli.data.record_io.json_records import InputRecord
    from ottla.client import Client, Producer

_CALLBACK: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
_LINE_READERS: Final = (
    "org.apache.kafka.tools.LineMessageReader",
    "kafka.tools.ConsoleProducer$LineMessageReader",
)
_OLD_NAMES: Final = {
    "property": ("property", "reader-property"),
    "old_property": ("producer-property", "command-property"),
    "old_config": ("producer.config", "command-config"),
}
# The option, its default, and the property it stands for.
_NUMBERS: Final = (
    ("batch-size", 16_384, "batch.size"),
    ("max-partition-memory-bytes", None, "batch.size"),
    ("timeout", 1_000, "linger.ms"),
    ("message-send-max-retries", 3, "retries"),
    ("retry-backoff-ms", 100, "retry.backoff.ms"),
    ("request-timeout-ms", 1_500, "request.timeout.ms"),
    ("metadata-expiry-ms", 300_000, "metadata.max.age.ms"),
    ("max-block-ms", 60_000, "max.block.ms"),
    ("max-memory-bytes", 33_554_432, "buffer.memory"),
    ("socket-buffer-size", 102_400, "send.buffer.bytes"),
)


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require(options, "topic", "bootstrap-server")
    client_options.remark(options, _OLD_NAMES, "Warning: ")
    if options.max_partition_memory_bytes is not None:
        print(
            "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. "
            "Use --batch-size instead."
        )
    try:
        return _produce(options)
    except (CommandError, UnreadableLine) as error:
        return report_failure(error)


def _parser() -> ToolParser:
    parser = ToolParser(
        "kafka-console-producer", "This tool helps to read data from standard input and publish it to Kafka."
    )
    client_options.add_client_options(parser, "producer")
    parser.add_argument("--topic", metavar="TOPIC", help="where to")
    parser.add_argument(
        "--compression-codec", nargs="?", const="gzip", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd"
    )
    parser.add_argument("--sync", action="store_true", help="wait for each record before the next one")
    parser.add_argument("--request-required-acks", metavar="ACKS", help="all, -1, 0 or 1; default -1")
    for name, default, _ in _NUMBERS:
        parser.add_argument(f"--{name}", type=int64, metavar="NUMBER", help=f"default {default}")
    parser.add_argument("--line-reader", default=_LINE_READERS[0], metavar="CLASS", help="only Apache's own")
    parser.add_argument("--reader-config", metavar="FILE", help="properties of the line reader")
    parser.add_argument("--reader-property", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help=argparse.SUPPRESS)
    return parser


def _properties(options: argparse.Namespace) -> dict[str, str]:
    """A flag that was given wins, then a property, then the properties file, then the flag's default."""
    properties = {"client.id": "console-producer"} | client_options.client_properties(options)
    for option, default, name in (*_NUMBERS, ("request-required-acks", -1, "acks")):
        given = getattr(options, option.replace("-", "_"))
        if given is not None:
            properties[name] = str(given)
        elif default is not None:
            properties.setdefault(name, str(default))
    if options.compression_codec is not None:
        properties["compression.type"] = options.compression_codec
    return properties


def _produce(options: argparse.Namespace) -> int:
    from ottla.cli.access.client_properties import producer_settings

    if options.line_reader not in _LINE_READERS:
        raise UsageError(f"{options.line_reader}: Java classes cannot be loaded; {_LINE_READERS[0]} is there.")
    reading = {} if options.reader_config is None else properties_of_file(options.reader_config)
    reading |= client_options.pairs([*options.property, *options.reader_property])
    reader = LineReader.from_properties(reading)
    properties = _properties(options)
    settings = producer_settings(properties)

    async def send(client: "Client") -> None:
        producer = client.producer(settings)
        sending = _Sending(producer, options.topic, is_sync=options.sync)
        try:
            async for record in _records(reader):
                await sending.send(record)
        finally:
            await sending.finish()

    with_client(client_options.cluster(options, properties), send)
    return ExitCode.DONE


async def _records(reader: LineReader) -> "AsyncIterator[InputRecord]":
    from ottla.cli.data.record_io.byte_streams import stdin_chunks

    is_interactive = sys.stdin.isatty() and sys.stdout.isatty()
    number = 0
    rest = b""
    _prompt(is_interactive)
    async for chunk in stdin_chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            yield reader.read(line.removesuffix(b"\r"), number)
        _prompt(is_interactive)
    if rest:
        yield reader.read(rest.removesuffix(b"\r"), number + 1)


def _prompt(is_interactive: bool) -> None:
    if is_interactive:
        print(">", end="", flush=True)


class _Sending:
    """Reports each record that was not delivered."""

    def __init__(self, producer: "Producer", topic: str, *, is_sync: bool) -> None:
        from ottla.cli.data.deliveries import Deliveries

        self._producer = producer
        self._topic = topic
        self._is_sync = is_sync
        self._deliveries = Deliveries(self._tell)

    async def send(self, record: "InputRecord") -> None:
        sending = self._producer.send(self._topic, record.value, record.key, headers=record.headers)
        await self._deliveries.add(record, sending)
        if self._is_sync:
            await self._producer.flush()
            await self._deliveries.settle_known()

    async def finish(self) -> None:
        from ottla.client import ClientError

        try:
            await self._deliveries.finish()
        finally:
            try:
                await self._producer.close()
            except ClientError as error:
                print(error, file=sys.stderr)

    def _tell(self, record: "InputRecord", outcome: "Outcome") -> None:
        if not isinstance(outcome, Exception):
            return
        key, value = ("null" if data is None else f"{len(data)} bytes" for data in (record.key, record.value))
        text = f"Error when sending message to topic {self._topic} with key: {key}, value: {value} with error:"
        log_error(text, _CALLBACK, as_java(outcome))
