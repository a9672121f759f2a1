"""What tests of transactions share: how producers come, and what a reader sees."""

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from harness.clients.contract import COMMITTED, Client, TransactionalProducer

NewTopic = Callable[..., str]
NewProducer = Callable[..., TransactionalProducer]


def values(client: Client, topic: str, count: int, *, isolation: str = COMMITTED, partition: int = 0) -> list[bytes]:
    """The first records of a partition. Tests end with a committed one, so that an aborted one before it would show."""
    return [one.record.value or b"" for one in client.read(topic, partition, 0, count, isolation=isolation)]


def committed_offsets(bootstrap: str, group: str, topic: str, partitions: int) -> list[int]:
    """What a group has committed, partition by partition; nothing while the server cannot say.

    Asked as a consumer would: librdkafka's admin client may crash when a coordinator is not there yet.
    """
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        found = consumer.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=10)
    except KafkaException:
        return []
    finally:
        consumer.close()
    return [one.offset for one in found]


def read_by_confluent(bootstrap: str, topic: str, partitions: int) -> dict[int, list[tuple[bytes | None, bytes]]]:
    """All that is committed, to the end of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    found: dict[int, list[tuple[bytes | None, bytes]]] = {partition: [] for partition in range(partitions)}
    at_end: set[int | None] = set()
    try:
        while len(at_end) < partitions:
            for message in consumer.consume(1000, timeout=1):
                error, value, partition = message.error(), message.value(), message.partition()
                if error is None and value is not None and partition is not None:
                    found[partition].append((message.key(), value))
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    at_end.add(partition)
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return found
