"""`ottla produce`: records from stdin or files, to a topic."""

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access import cluster_access, registry_access
from ottla.cli.data.pacing import Pace
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error
from ottla.cli.verbs import add_output_option
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from ottla.cli.data.deliveries import Outcome
    from ottla.cli.data.record_io.json_records import InputRecord
    from ottla.cli.data.record_io.record_encoding import RecordEncoding
    from ottla.cli.data.record_io.record_input import LineInput, RecordInput
    from ottla.client import Client, Producer, ProducerSettings
    from ottla.client.delivery import Delivery
    from ottla.protocol.records import Headers
    from ottla.schemas.registry_client.registered import RegisteredSchema
    from ottla.schemas.registry_client.registry_client import RegistryClient

_EPILOG: Final = """\
formats (-f): %k %v key and value, %K %V their lengths, %p partition, %d timestamp, %H%h{%k=%v,} headers;
  texts as {hex} or {base64}, numbers as {big32} and the like

examples:
  echo 'hello' | ottla produce greetings
  ottla produce orders -K : orders.txt -l                  key:value lines of a file
  printf 'k1 v1\\n' | ottla produce orders -f '%k %v\\n'
  ottla consume a -e -o jsonl | ottla produce b --jsonl     copy a topic, losslessly
  echo | ottla produce orders -k id-7 -Z                    a tombstone: an empty line, as null
  ottla produce orders -l day.txt --transactional-id load   all lines or none, for readers of committed records
  echo '{"id": 7}' | ottla produce orders --schema order.avsc --register
                                                            JSON lines, encoded with a schema of a registry
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to send, and how."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "Write records to a topic: each line of stdin, each file, or what a format or JSON says."
    parser.epilog = _EPILOG
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "files", nargs="*", default=[], metavar="FILE", help="one record each, or with -l their lines; - is stdin"
    )
    record = parser.add_argument_group("what a record is")
    record.add_argument("-l", "--lines", action="store_true", help="FILE holds lines, one record each")
    record.add_argument("--jsonl", action="store_true", help="JSON lines, as 'consume -o jsonl' writes them")
    record.add_argument("-f", "--format", metavar="FORMAT", help="a format string of rpk's, see below")
    record.add_argument("-D", "--delimiter", metavar="TEXT", default="\\n", help="text after each record; default \\n")
    record.add_argument("-K", "--key-delimiter", metavar="TEXT", help="text between key and value")
    record.add_argument("-k", "--key", metavar="KEY", help="the key of records that bring none")
    record.add_argument("-H", "--header", metavar="NAME=VALUE", action="append", default=[], help="repeatable")
    record.add_argument("-Z", "--null", action="store_true", help="empty keys and values are null (tombstones)")
    _add_schema_options(parser)
    how = parser.add_argument_group("how it is sent")
    how.add_argument("-p", "--partition", type=int32, metavar="N", help="the partition of all records")
    how.add_argument("-z", "--compression", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd")
    how.add_argument("--acks", choices=["all", "-1", "0", "1"], help="whose word is waited for; default all")
    how.add_argument("--rate", type=float, metavar="N", help="at most N records a second")
    how.add_argument("--transactional-id", metavar="ID", help="all records in one transaction of this id")
    how.add_argument("--transaction-records", type=int64, metavar="N", help="a transaction for each N records")
    add_output_option(parser, default="nothing; with it, where each record went")
    cluster_access.add_options(parser)
    parser.set_defaults(run=run, takes_more="files")


def _add_schema_options(parser: argparse.ArgumentParser) -> None:
    schemas = parser.add_argument_group("schemas of a registry")
    which = "a file, SUBJECT:VERSION or id:N"
    schemas.add_argument("--schema", metavar="SCHEMA", help=f"values are JSON, encoded by this schema: {which}")
    schemas.add_argument("--key-schema", metavar="SCHEMA", help="keys are JSON, encoded by this schema")
    schemas.add_argument("--register", action="store_true", help="register the file's schema as TOPIC-value or -key")
    registry_access.add_registry_option(schemas, f"default {registry_access.DEFAULT_REGISTRY}")


def run(options: argparse.Namespace) -> int:
    """Send all there is; end with an error at the first record that cannot be sent."""
    from ottla.cli.data.record_io.record_input import BadInput

    access = cluster_access.cluster_access(options)
    settings = _settings(options, access)
    source, pace = _source(options), Pace(options.rate)
    encoding = _encoding(options, access)
    waits_for_commit = settings.transactional_id is not None
    results = _Results(getattr(options, "output", None), waits_for_commit=waits_for_commit)

    async def send(client: "Client") -> None:
        import asyncio

        from ottla.cli.data.deliveries import Deliveries
        from ottla.cli.data.transacting import Transacting
        from ottla.client import ClientError

        async with client.producer(settings) as producer:
            deliveries = Deliveries(results.add)
            transacting = Transacting(producer, options.transaction_records, deliveries.finish, results.commit)
            try:
                await transacting.start()
                number = 0
                async for record in _records(source, options):
                    await pace.wait(number)
                    number += 1
                    await deliveries.add(number, _sent(producer, options, _encoded(encoding, record, number)))
                    await transacting.added()
                await transacting.finish()
            except (ClientError, CommandError) as error:
                raise transacting.explained(error) from error
            except asyncio.CancelledError:
                if not deliveries.is_empty:
                    told = "waiting for the records under way; press Ctrl-C again to give them up"
                    print(f"ottla: {told}", file=sys.stderr)
                raise

    try:
        cluster_access.with_client(access, send)
    except BadInput as error:
        remedy = "What came before it was sent."
        if settings.transactional_id is not None:
            remedy = f"The transaction was aborted; records before it that were committed: {results.committed}."
        raise CommandError(f"{error}.", remedy=remedy) from None
    except OSError as error:
        raise CommandError(f"{error.filename or 'stdin'} cannot be read: {error.strerror}.") from None
    finally:
        results.end()
        encoding.close()
    return ExitCode.DONE


def _encoding(options: argparse.Namespace, access: cluster_access.ClusterAccess) -> "RecordEncoding":
    from ottla.cli.data.record_io.record_encoding import RecordEncoding
    from ottla.cli.data.schema_choice import find_schema

    def find(client: "RegistryClient") -> "list[RegisteredSchema | None]":
        wanted = (("--schema", options.schema, "value"), ("--key-schema", options.key_schema, "key"))
        return [
            None
            if text is None
            else find_schema(client, option, text, f"{options.topic}-{part}", registers=options.register)
            for option, text, part in wanted
        ]

    settings = registry_access.registry_or_default(options, access.properties)
    found: list[RegisteredSchema | None] = [None, None]
    if options.schema is not None or options.key_schema is not None:
        found = registry_access.work_with(settings, find)
    elif options.register:
        raise UsageError("--register goes with --schema FILE or --key-schema FILE.")
    return RecordEncoding(lambda: registry_access.open_registry(settings), *found)


def _encoded(encoding: "RecordEncoding", record: "InputRecord", number: int) -> "InputRecord":
    try:
        return encoding.encoded(record)
    except ValueError as error:
        from ottla.cli.data.record_io.record_input import BadInput
        from ottla.schemas.registry_client.errors import RegistryFailure

        if isinstance(error, RegistryFailure):
            raise registry_access.registry_error(error) from error
        raise BadInput(f"record {number}: {error}") from None


def _sent(producer: "Producer", options: argparse.Namespace, record: "InputRecord") -> "Awaitable[Delivery]":
    return producer.send(
        options.topic,
        record.value,
        record.key,
        partition=record.partition if options.partition is None else options.partition,
        timestamp_ms=record.timestamp_ms,
        headers=record.headers,
    )


class _Results:
    """Print where records went, if asked; the first one that failed ends the command.

    In a transaction nothing is written before the commit.
    """

    def __init__(self, named: str | None, *, waits_for_commit: bool) -> None:
        self.committed = 0
        self._named = named
        self._waits_for_commit = waits_for_commit
        self._pending: list[dict[str, object]] = []
        self._rows: list[dict[str, object]] = []

    def add(self, number: int, outcome: "Outcome") -> None:
        if isinstance(outcome, Exception):
            failed = command_error(outcome)
            raise CommandError(f"record {number} was not written: {failed}", failed.code, failed.remedy) from outcome
        if self._named is not None:
            self._pending.append(
                {
                    "topic": outcome.topic,
                    "partition": outcome.partition,
                    "offset": outcome.offset,
                    "timestamp_ms": outcome.timestamp_ms,
                }
            )
        if not self._waits_for_commit:
            self.commit(1)

    def commit(self, count: int) -> None:
        """So many records more are there to stay."""
        from ottla.cli.output import OutputFormat, print_object

        self.committed += count
        if self._named == OutputFormat.JSONL.value:
            for row in self._pending:
                print_object(OutputFormat.JSONL, row)
        else:
            self._rows += self._pending
        self._pending.clear()

    def end(self) -> None:
        from ottla.cli.output import OutputFormat, print_rows

        if self._named is not None and self._named != OutputFormat.JSONL.value:
            print_rows(OutputFormat(self._named), ("topic", "partition", "offset", "timestamp_ms"), self._rows)


async def _records(source: "RecordInput", options: argparse.Namespace) -> "AsyncGenerator[InputRecord]":
    from contextlib import aclosing

    from ottla.cli.data.record_io.byte_streams import file_chunks
    from ottla.cli.data.record_io.record_input import LineInput

    is_whole = bool(options.files) and not options.lines and isinstance(source, LineInput)
    for path in options.files or ("-",):
        async with aclosing(file_chunks(path)) as chunks:
            if is_whole:
                assert isinstance(source, LineInput)
                yield source.whole(b"".join([chunk async for chunk in chunks]))
                continue
            async for chunk in chunks:
                for record in source.feed(chunk):
                    yield record
        for record in source.end():
            yield record


def _source(options: argparse.Namespace) -> "RecordInput":
    from ottla.cli.data.record_io.format_tokens import unescaped
    from ottla.cli.data.record_io.input_formats import InputFormat
    from ottla.cli.data.record_io.record_input import FormattedInput, JsonInput

    if options.jsonl and options.format is not None:
        raise UsageError("--jsonl and -f: give one of them.")
    is_plain = not options.jsonl and options.format is None
    if not is_plain and (options.key_delimiter or options.key or options.header or options.null):
        raise UsageError(
            "-k, -K, -H and -Z are for lines and files: JSON and formats bring keys and headers themselves."
        )
    try:
        if options.jsonl:
            return JsonInput(key_is_json=options.key_schema is not None, value_is_json=options.schema is not None)
        if options.format is not None:
            return FormattedInput(InputFormat(options.format))
        return _line_input(options, unescaped(options.delimiter))
    except ValueError as error:
        raise UsageError(f"{error}.") from None


def _line_input(options: argparse.Namespace, delimiter: bytes) -> "LineInput":
    from ottla.cli.data.record_io.format_tokens import unescaped
    from ottla.cli.data.record_io.record_input import LineInput

    return LineInput(
        delimiter,
        None if options.key_delimiter is None else unescaped(options.key_delimiter),
        None if options.key is None else options.key.encode(errors="surrogateescape"),
        _headers(options.header),
        empty_is_null=options.null,
    )


def _headers(given: list[str]) -> "Headers":
    """NAME=VALUE; as in kcat a name alone has no value."""
    pairs = []
    for text in given:
        name, separator, value = text.partition("=")
        pairs.append((name, value.encode(errors="surrogateescape") if separator else None))
    return tuple(pairs)


def _settings(options: argparse.Namespace, access: cluster_access.ClusterAccess) -> "ProducerSettings":
    from ottla.cli.access.client_properties import codec_named, producer_settings

    properties = dict(access.properties)
    if options.acks is not None:
        properties["acks"] = options.acks
    if options.transactional_id is not None:
        if not options.transactional_id:
            raise UsageError("--transactional-id needs a name, of at least one character.")
        properties["transactional.id"] = options.transactional_id
    settings = producer_settings(properties, may_have_transactions=True)
    if options.transaction_records is not None and (
        settings.transactional_id is None or options.transaction_records < 1
    ):
        raise UsageError(
            f"--transaction-records {options.transaction_records}: it is a number from 1, beside --transactional-id ID."
        )
    if options.compression is not None:
        settings = replace(settings, codec=codec_named(options.compression))
    return settings
