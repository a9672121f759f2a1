"""What tests of transactions share: how producers come, and what a reader sees."""

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, TopicPartition

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
