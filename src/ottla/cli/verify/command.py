"""`ottla verify`: writes numbered records and reads them back: each acknowledged one must be there, once, in order."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import ClusterAccess, cluster_access, with_client
from ottla.cli.data.pacing import Pace
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.output import OutputFormat, print_object, print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.data.deliveries import Outcome
    from ottla.cli.verify.ledgers import Ledgers
    from ottla.client import Client, Producer

_COLUMNS: Final = ("run", "expected", "received", "missing", "duplicates", "out_of_order", "first_missing")
_PRODUCE_EPILOG: Final = """\
With -o jsonl there is a line for each record, with its place or its error.
example: ottla verify produce checks -n 100000 --rate 5000 -o jsonl > sent.jsonl
"""
_CONSUME_EPILOG: Final = """\
Exit code 1 if a number is missing, came twice, or came out of order.
example: ottla verify consume checks
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of verify."""
    verbs = Verbs(parser)
    produce = verbs.add("produce", produce_numbers, "write records with the numbers 1 to N", epilog=_PRODUCE_EPILOG)
    produce.add_argument("topic", metavar="TOPIC")
    produce.add_argument("-n", "--count", type=int64, default=1_000, metavar="N", help="how many; default 1000")
    produce.add_argument("--size", type=int32, default=0, metavar="BYTES", help="fill values up to this size")
    produce.add_argument("--rate", type=float, metavar="N", help="at most N records a second")
    produce.add_argument("--acks", choices=["all", "-1", "0", "1"], help="default all, and idempotent")
    produce.add_argument("--run", dest="run_name", metavar="NAME", help="name of the run; default a new one")
    consume = verbs.add(
        "consume", consume_numbers, "check the records that verify produce wrote", epilog=_CONSUME_EPILOG
    )
    consume.add_argument("topics", nargs="+", metavar="TOPIC")
    consume.add_argument("--run", dest="run_name", metavar="NAME", help="only this run; default all")
    consume.add_argument("--read-committed", action="store_true", help="no records of open and aborted transactions")


def produce_numbers(options: argparse.Namespace) -> int:
    """Write the numbers, tell what became of each."""
    from ottla.cli.access.client_properties import producer_settings

    if options.count < 1:
        raise UsageError(f"-n {options.count}: it is a number of records, from 1.")
    pace = Pace(options.rate)
    access = cluster_access(options)
    settings = producer_settings({**access.properties, **({} if options.acks is None else {"acks": options.acks})})
    form = output_format(options)
    numbers = _Numbers(options, pace, form)

    async def send(client: "Client") -> None:
        await numbers.send_all(client.producer(settings))

    with_client(access, send)
    summary = {"run": numbers.run, "sent": options.count, "acknowledged": numbers.done, "failed": numbers.failed}
    if form is OutputFormat.JSONL:
        print(", ".join(f"{name} {value}" for name, value in summary.items()), file=sys.stderr)
    else:
        print_object(form, summary)
    return ExitCode.FAILED if numbers.failed else ExitCode.DONE


class _Numbers:
    """Numbers on their way, and what became of them."""

    def __init__(self, options: argparse.Namespace, pace: Pace, form: OutputFormat) -> None:
        import secrets

        self.run = options.run_name or secrets.token_hex(4)
        self.done = 0
        self.failed = 0
        self._options = options
        self._pace = pace
        self._tells_each = form is OutputFormat.JSONL

    async def send_all(self, producer: "Producer") -> None:
        from ottla.cli.data.deliveries import Deliveries
        from ottla.cli.verify.ledgers import headers_of_run, value_of_number

        headers = headers_of_run(self.run, self._options.count)
        deliveries = Deliveries(self._tell)
        for number in range(1, self._options.count + 1):
            await self._pace.wait(number - 1)
            value = value_of_number(number, self._options.size)
            await deliveries.add(number, producer.send(self._options.topic, value, headers=headers))
        await deliveries.finish()
        await producer.close()

    def _tell(self, number: int, outcome: "Outcome") -> None:
        row: dict[str, object] = {"run": self.run, "number": number, "partition": None, "offset": None, "error": None}
        if isinstance(outcome, Exception):
            self.failed += 1
            row["error"] = str(outcome)
        else:
            self.done += 1
            row |= {"partition": outcome.partition, "offset": outcome.offset}
        if self._tells_each:
            print(json.dumps(row))
        elif isinstance(outcome, Exception):
            print(f"record {number} was not written: {outcome}", file=sys.stderr)


def consume_numbers(options: argparse.Namespace) -> int:
    """Read everything up to the present end, tell what is missing."""
    from ottla.cli.verify.ledgers import Ledgers

    ledgers = Ledgers(options.run_name)
    _read_all(options, cluster_access(options), ledgers)
    if not ledgers.by_run:
        wanted = "" if options.run_name is None else f" of run {options.run_name!r}"
        raise CommandError(
            f"there are no numbered records{wanted} in {', '.join(options.topics)}.",
            ExitCode.NOT_FOUND,
            remedy="Write some: ottla verify produce TOPIC",
        )
    print_rows(output_format(options), _COLUMNS, [ledger.row() for ledger in ledgers.by_run.values()])
    is_sound = all(ledger.is_sound for ledger in ledgers.by_run.values())
    return ExitCode.DONE if is_sound else ExitCode.FAILED


def _read_all(options: argparse.Namespace, access: ClusterAccess, ledgers: "Ledgers") -> None:
    from contextlib import aclosing
    from dataclasses import replace

    from ottla.cli.access.client_properties import consumer_settings
    from ottla.cli.data.record_io.reading import Reader, Reading
    from ottla.cli.words.offset_ranges import FROM_START
    from ottla.client import IsolationLevel

    settings = consumer_settings(access.properties)
    if options.read_committed:
        settings = replace(settings, isolation=IsolationLevel.READ_COMMITTED)
    reading = Reading(tuple(options.topics), stops_at_end=True)

    async def read(client: "Client") -> None:
        async with aclosing(Reader(client, reading, settings).from_range(FROM_START)) as batches:
            async for batch in batches:
                for record in batch:
                    ledgers.add(record)

    with_client(access, read)
