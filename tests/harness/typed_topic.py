"""A topic that Confluent's serializers write and its deserializers read, through a broker."""

from collections.abc import Callable
from typing import Any

from confluent_kafka.serialization import MessageField, SerializationContext

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record


class TypedTopic:
    def __init__(self, client: ConfluentKafka, name: str) -> None:
        self.name = name
        self._client = client

    def send(self, serialize: Callable[..., Any], *values: Any) -> list[Record]:
        """What was sent for each value."""
        records = []
        for value in values:
            headers: list[tuple[str, bytes]] = []
            data = serialize(value, SerializationContext(self.name, MessageField.VALUE, headers))
            records.append(Record(data, None, tuple(headers)))
        self._client.produce(self.name, records, partition=0)
        return records

    def receive(self, deserialize: Callable[..., Any], count: int) -> list[Any]:
        """The first values of the topic."""
        found = [one.record for one in self._client.read(self.name, 0, 0, count)]
        return [deserialize(one.value, self._context(one)) for one in found]

    def _context(self, record: Record) -> SerializationContext:
        return SerializationContext(self.name, MessageField.VALUE, list(record.headers))
