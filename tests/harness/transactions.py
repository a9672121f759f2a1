"""What tests of transactions share: how producers come, and what a reader sees."""

from collections.abc import Callable

from harness.clients.contract import COMMITTED, Client, TransactionalProducer

NewTopic = Callable[..., str]
NewProducer = Callable[..., TransactionalProducer]


def values(client: Client, topic: str, count: int, *, isolation: str = COMMITTED, partition: int = 0) -> list[bytes]:
    """The first records of a partition. Tests end with a committed one, so that an aborted one before it would show."""
    return [one.record.value or b"" for one in client.read(topic, partition, 0, count, isolation=isolation)]
