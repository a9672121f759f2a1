"""`kafka-console-consumer`: records of topics to stdout, with Apache's flags and formatters."""

import argparse
import random
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import properties_of_file, with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.console.message_formatters import Formatter, formatter_named
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import log_error, report_failure
from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from signal import Signals

    from ottla.client import Client, Consumer, CorruptBatch, GroupSettings, Record

_CLASS: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_OLD_NAMES: Final = {
    "property": ("property", "formatter-property"),
    "old_property": ("consumer-property", "command-property"),
    "old_config": ("consumer.config", "command-config"),
}
_TERMINATING: Final = "Error processing message, terminating consumer process: "
_POLL_MS: Final = 1_000
_GROUP_MISMATCH: Final = (
    "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
    "'--consumer.config') do not match. Detected group ids: {}"
)


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    _check(parser, options)
    client_options.remark(options, _OLD_NAMES, "Option ")
    try:
        properties = client_options.client_properties(options)
        _check_group(parser, options, properties)
        formatter = formatter_named(options.formatter, _formatter_properties(options))
        return _Tool(options, properties, formatter).run()
    except CommandError as error:
        log_error("Unknown error when running consumer: ", _CLASS)
        return report_failure(error)


def _parser() -> ToolParser:
    parser = ToolParser(
        "kafka-console-consumer", "This tool helps to read data from Kafka topics and outputs it to standard output."
    )
    client_options.add_client_options(parser, "consumer")
    parser.add_argument("--topic", metavar="TOPIC", help="what to read")
    parser.add_argument("--include", "--whitelist", metavar="REGEX", help="topics to read, by a regular expression")
    parser.add_argument("--partition", type=int32, metavar="N", help="only this one; from its end without --offset")
    parser.add_argument("--offset", metavar="OFFSET", help="earliest, latest or a number; default latest")
    parser.add_argument("--from-beginning", action="store_true", help="where nothing is committed, from the beginning")
    parser.add_argument("--group", metavar="GROUP", help="the consumer group")
    parser.add_argument("--max-messages", type=int64, metavar="COUNT", help="end after so many")
    parser.add_argument("--timeout-ms", type=int64, metavar="MS", help="end after so long without a message")
    parser.add_argument("--isolation-level", default="read_uncommitted", metavar="LEVEL", help="or read_committed")
    parser.add_argument("--skip-message-on-error", action="store_true", help="go on after what cannot be formatted")
    parser.add_argument("--enable-systest-events", action="store_true", help="tell when the consumer has ended")
    parser.add_argument("--key-deserializer", metavar="CLASS", help="one of Kafka's own")
    parser.add_argument("--value-deserializer", metavar="CLASS", help="one of Kafka's own")
    parser.add_argument("--formatter", default="DefaultMessageFormatter", metavar="CLASS", help="one of Kafka's own")
    parser.add_argument("--formatter-config", metavar="FILE", help="properties of the formatter")
    parser.add_argument("--formatter-property", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help=argparse.SUPPRESS)
    parser.add_argument("--new-consumer", action="store_true", help=argparse.SUPPRESS)
    return parser


def _check(parser: ToolParser, options: argparse.Namespace) -> None:
    parser.require(options, "bootstrap-server")
    if (options.topic is None) == (options.include is None):
        parser.error("Exactly one of the following arguments is required: [topic], [include]")
    if options.partition is not None and options.topic is None:
        parser.error("The topic is required when partition is specified.")
    if options.offset is not None:
        if options.partition is None:
            parser.error("The partition is required when offset is specified.")
        if options.from_beginning:
            parser.error("Options from-beginning and offset cannot be specified together.")
        if options.offset.lower() not in ("earliest", "latest") and not _is_offset(options.offset):
            parser.error(
                f"The provided offset value '{options.offset}' is incorrect. Valid values are 'earliest', 'latest', "
                "or a non-negative long."
            )
    if options.isolation_level not in ("read_uncommitted", "read_committed"):
        parser.error(f"isolation-level {options.isolation_level}: it is read_uncommitted or read_committed.")
    if options.include is not None:
        try:
            re.compile(options.include)
        except re.error as error:
            parser.error(f"{options.include} is an invalid regex: {error}")


def _check_group(parser: ToolParser, options: argparse.Namespace, properties: dict[str, str]) -> None:
    """One group, or a new one for this run, which commits nothing."""
    named = {group for group in (options.group, properties.get("group.id")) if group is not None}
    if len(named) > 1:
        parser.error(_GROUP_MISMATCH.format(", ".join(f"'{group}'" for group in sorted(named))))
    if options.partition is not None and options.group is not None:
        parser.error("Options group and partition cannot be specified together.")
    reset = properties.get("auto.offset.reset")
    if options.from_beginning and reset not in (None, "earliest"):
        print(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option",
            file=sys.stderr,
        )
        sys.exit(ExitCode.FAILED)
    if named:
        properties["group.id"] = named.pop()
    else:
        properties["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        properties.setdefault("enable.auto.commit", "false")
    properties.setdefault("auto.offset.reset", "earliest" if options.from_beginning else "latest")
    properties["isolation.level"] = options.isolation_level
    properties.setdefault("client.id", "console-consumer")


def _formatter_properties(options: argparse.Namespace) -> dict[str, str]:
    properties = {} if options.formatter_config is None else properties_of_file(options.formatter_config)
    properties |= client_options.pairs([*options.property, *options.formatter_property])
    for name, given in (("key", options.key_deserializer), ("value", options.value_deserializer)):
        if given is not None:
            properties[f"{name}.deserializer"] = given
    return properties


class _Tool:
    """One run: it prints how many messages there were, however it ends."""

    def __init__(self, options: argparse.Namespace, properties: dict[str, str], formatter: Formatter) -> None:
        self._options = options
        self._properties = properties
        self._format = formatter
        self._count = 0
        self._is_bad = False

    def run(self) -> int:
        from ottla.cli.interruption import exit_code_of_signal, until_interrupted

        async def read(client: "Client") -> "Signals | None":
            return await until_interrupted(self._read(client))

        try:
            received = with_client(client_options.cluster(self._options, self._properties), read)
        finally:
            print(f"Processed a total of {self._count} messages", file=sys.stderr)
        if self._options.enable_systest_events:
            print("shutdown_complete")
        if self._is_bad:
            return ExitCode.FAILED
        return exit_code_of_signal(received)

    async def _read(self, client: "Client") -> None:
        from ottla.cli.access.client_properties import consumer_settings, group_settings
        from ottla.client import CorruptBatch

        settings = consumer_settings(self._properties)
        group = None
        if self._options.partition is None:
            group = group_settings(self._properties["group.id"], self._properties)
        async with client.consumer(settings, group) as consumer:
            await self._start(client, consumer, group)
            while not self._is_done:
                try:
                    records = await self._poll(client, consumer)
                except CorruptBatch as error:
                    log_error(_TERMINATING, _CLASS, _as_java(error))
                    return
                if not records:
                    log_error(_TERMINATING, _CLASS, "org.apache.kafka.common.errors.TimeoutException")
                    return
                self._write(records)

    @property
    def _is_done(self) -> bool:
        most = self._options.max_messages
        return self._is_bad or (most is not None and 0 <= most <= self._count)

    async def _start(self, client: "Client", consumer: "Consumer", group: "GroupSettings | None") -> None:
        from ottla.client import ClientError, OffsetSpec, TopicPartition

        topic, offset = self._options.topic, self._options.offset
        if group is None:
            partition = TopicPartition(topic, self._options.partition)
            consumer.assign([partition])
            if offset is not None and _is_offset(offset):
                consumer.seek(partition, int(offset))
            else:
                is_earliest = self._options.from_beginning or (offset or "").lower() == "earliest"
                await consumer.seek_to({partition: OffsetSpec.EARLIEST if is_earliest else OffsetSpec.LATEST})
            return
        if topic is None:
            consumer.subscribe(re.compile(self._options.include))
            return
        try:
            # A consumer that asks for a topic makes it, where brokers allow that.
            await client.cluster.topic(topic, auto_create=True)
        except ClientError as error:
            print(f"{topic}: {error}", file=sys.stderr)
        consumer.subscribe([topic])

    async def _poll(self, client: "Client", consumer: "Consumer") -> list["Record"]:
        """The next records; none if the time is up."""
        timeout_ms, most = self._options.timeout_ms, self._options.max_messages
        wanted = None if most is None or most < 0 else min(most - self._count, consumer.settings.max_poll_records)
        deadline_s = None if timeout_ms is None else client.cluster.now_s() + timeout_ms / 1000
        while True:
            left_ms = _POLL_MS if deadline_s is None else (deadline_s - client.cluster.now_s()) * 1000
            if left_ms <= 0:
                return []
            records = await consumer.poll(min(left_ms, _POLL_MS), max_records=wanted)
            if records:
                return records

    def _write(self, records: list["Record"]) -> None:
        out = sys.stdout.buffer
        for record in records:
            self._count += 1
            try:
                out.write(self._format(record))
            except ValueError as error:
                cause = f"org.apache.kafka.common.errors.SerializationException: {error}"
                if self._options.skip_message_on_error:
                    log_error("Error processing message, skipping this message: ", _CLASS, cause)
                    continue
                log_error("Unknown error when running consumer: ", _CLASS, cause)
                self._is_bad = True
                break
        out.flush()


def _as_java(error: "CorruptBatch") -> str:
    """Java's consumer has no class of its own for a damaged batch."""
    place = f"fetching offset {error.offset} for topic-partition {error.partition}"
    return f"org.apache.kafka.common.KafkaException: Encountered corrupt message when {place}"


def _is_offset(text: str) -> bool:
    try:
        return text.isdecimal() and int64(text) >= 0
    except ValueError:
        return False
