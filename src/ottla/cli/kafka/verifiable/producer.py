"""`kafka-verifiable-producer`: increasing numbers, and a line of JSON for what became of each, as Apache's has them."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import report_failure
from ottla.cli.kafka.frame.options import ClientToolParser
from ottla.cli.kafka.verifiable import now_ms, tell_event
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from signal import Signals

    from ottla.cli.data.deliveries import Outcome
    from ottla.client import Client, ClientError, Producer

_ENDLESS: Final = -1


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require(options, "topic", "bootstrap-server")
    try:
        properties = client_options.client_properties(options)
        properties["acks"] = str(options.acks)
        return _Tool(options, properties).run()
    except CommandError as error:
        return report_failure(error)


def _parser() -> ClientToolParser:
    parser = ClientToolParser("kafka-verifiable-producer", "Produces numbers, tells in JSON which were acknowledged.")
    client_options.add_client_options(parser, "producer")
    parser.add_argument("--topic", metavar="TOPIC", help="where to")
    parser.add_argument("--max-messages", type=int64, default=_ENDLESS, metavar="COUNT", help="default -1: for ever")
    parser.add_argument(
        "--throughput", type=int64, default=-1, metavar="RATE", help="messages a second; default -1: all"
    )
    parser.add_argument("--acks", type=int32, default=-1, choices=[-1, 0, 1], help="default -1")
    parser.add_argument("--message-create-time", type=int64, default=-1, metavar="MS", help="timestamps begin here")
    parser.add_argument("--value-prefix", type=int32, metavar="NUMBER", help="before each value, with a dot")
    parser.add_argument("--repeating-keys", type=int32, metavar="COUNT", help="keys 0 to COUNT-1, over and over")
    return parser


class _Tool:
    """One run."""

    def __init__(self, options: argparse.Namespace, properties: dict[str, str]) -> None:
        from ottla.cli.access.client_properties import producer_settings
        from ottla.cli.data.deliveries import Deliveries

        self._options = options
        self._properties = properties
        self._settings = producer_settings(properties)
        self._sent = 0
        self._acknowledged = 0
        self._started_ms = now_ms()
        self._first_ms: int | None = None
        self._deliveries = Deliveries(self._tell)

    def run(self) -> int:
        from ottla.cli.interruption import exit_code_of_signal, until_interrupted

        async def work(client: "Client") -> "Signals | None":
            tell_event("startup_complete")
            producer = client.producer(self._settings)
            received = await until_interrupted(self._send_all(producer))
            await self._deliveries.finish()
            await producer.close()
            return received

        received = with_client(client_options.cluster(self._options, self._properties), work)
        tell_event("shutdown_complete")
        elapsed_ms = max(1, now_ms() - self._started_ms)
        tell_event(
            "tool_data",
            sent=self._sent,
            acked=self._acknowledged,
            target_throughput=self._options.throughput,
            avg_throughput=1000.0 * self._acknowledged / elapsed_ms,
        )
        return exit_code_of_signal(received)

    async def _send_all(self, producer: "Producer") -> None:
        from ottla.cli.data.pacing import Pace

        options = self._options
        pace = Pace(options.throughput if options.throughput > 0 else None)
        while options.max_messages in (_ENDLESS, None) or self._sent < options.max_messages:
            await pace.wait(self._sent)
            # A signal takes effect between two records.
            await asyncio.sleep(0)
            value = str(self._sent) if options.value_prefix is None else f"{options.value_prefix}.{self._sent}"
            key = None if not options.repeating_keys else str(self._sent % options.repeating_keys)
            self._sent += 1
            sending = producer.send(
                options.topic,
                value.encode(),
                None if key is None else key.encode(),
                timestamp_ms=self._create_time_ms(),
            )
            await self._deliveries.add((key, value), sending)

    def _create_time_ms(self) -> int | None:
        first_ms: int = self._options.message_create_time
        if first_ms < 0:
            return None
        self._first_ms = self._first_ms or now_ms()
        return first_ms + now_ms() - self._first_ms

    def _tell(self, record: tuple[str | None, str], outcome: "Outcome") -> None:
        key, value = record
        if isinstance(outcome, Exception):
            self._tell_error(key, value, outcome)
            return
        self._acknowledged += 1
        tell_event(
            "producer_send_success",
            key=key,
            value=value,
            offset=outcome.offset,
            topic=outcome.topic,
            partition=outcome.partition,
        )

    def _tell_error(self, key: str | None, value: str, error: "ClientError") -> None:
        from ottla.cli.kafka.frame.java_errors import as_java, told

        name = as_java(error).partition(":")[0]
        tell_event(
            "producer_send_error",
            topic=self._options.topic,
            key=key,
            value=value,
            exception=f"class {name}",
            message=told(error),
        )
