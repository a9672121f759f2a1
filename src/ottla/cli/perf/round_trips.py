"""From end to end: a record is produced, and the next one only when a consumer has it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode
from ottla.client import OffsetSpec, TopicPartition

if TYPE_CHECKING:
    from ottla.client import Consumer, Producer
    from ottla.protocol.records import Headers

TIMEOUT_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """What travels: sizes in bytes, None for a null header value."""

    topic: str
    count: int
    value_bytes: int
    key_bytes: int = 0
    header_count: int = 0
    header_key_bytes: int = 0
    header_value_bytes: int | None = 0

    def headers(self) -> "Headers":
        name = "h" * self.header_key_bytes
        value = None if self.header_value_bytes is None else b"v" * self.header_value_bytes
        return ((name, value),) * self.header_count


async def travel(
    trips: RoundTrips,
    partitions: list[int],
    producer: "Producer",
    consumer: "Consumer",
    each: Callable[[int, float], None],
) -> None:
    """Make the trips; `each` gets the number of each one and its latency in ms."""
    assigned = [TopicPartition(trips.topic, number) for number in partitions]
    consumer.assign(assigned)
    await consumer.seek_to(dict.fromkeys(assigned, OffsetSpec.LATEST))
    headers = trips.headers()
    for number in range(trips.count):
        value = os.urandom(trips.value_bytes)
        key = os.urandom(trips.key_bytes) if trips.key_bytes else None
        started_s = time.perf_counter()
        await (await producer.send(trips.topic, value, key, headers=headers))
        records = await consumer.poll(TIMEOUT_MS)
        latency_ms = (time.perf_counter() - started_s) * 1000
        if not records:
            text = f"record {number + 1} was acknowledged and did not come back within {TIMEOUT_MS:g} ms."
            raise CommandError(text, ExitCode.UNAVAILABLE)
        if len(records) > 1 or records[0].value != value or records[0].key != key:
            raise CommandError(
                f"something other than record {number + 1} came back: is someone else writing to the topic?"
            )
        each(number, latency_ms)
