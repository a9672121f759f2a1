"""A first conversation with a broker: create a topic, produce to it, consume through a group.

    python examples/hello.py [HOST:PORT]

It needs `pip install confluent-kafka` and nothing of Ottla: this is what any Kafka client does.
"""

import sys
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "hello"
GROUP = "hello-readers"
PARTITIONS = 3
TIMEOUT_S = 15.0

GREETINGS = ("hello", "dobrý den", "grüß Gott", "bonjour", "hola", "こんにちは")


def create_topic(bootstrap: str) -> bool:
    """Whether the topic is new."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    try:
        admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result(TIMEOUT_S)
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def count_records(bootstrap: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    ends = [consumer.get_watermark_offsets(TopicPartition(TOPIC, n), timeout=TIMEOUT_S) for n in range(PARTITIONS)]
    consumer.close()
    return sum(high - low for low, high in ends)


def produce(bootstrap: str) -> None:
    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        print(
            f"  produced  {message.value().decode():<12} to partition {message.partition()}, offset {message.offset()}"
        )

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for greeting in GREETINGS:
        producer.produce(TOPIC, value=greeting, key=greeting, on_delivery=on_delivery)
    if producer.flush(TIMEOUT_S):
        raise TimeoutError("the broker did not acknowledge everything")


def consume(bootstrap: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    for _ in GREETINGS:
        message = consumer.poll(TIMEOUT_S)
        if message is None:
            raise TimeoutError("no record arrived")
        if message.error():
            raise KafkaException(message.error())
        sent = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
        print(f"  consumed  {message.value().decode():<12} of {sent:%H:%M:%S.%f} UTC in group {GROUP!r}")
    consumer.commit(asynchronous=False)
    consumer.close()


def main(bootstrap: str) -> None:
    if create_topic(bootstrap):
        print(f"  created   topic {TOPIC!r} with {PARTITIONS} partitions")
    else:
        print(f"  found     topic {TOPIC!r} with {count_records(bootstrap)} records of earlier runs")
    produce(bootstrap)
    consume(bootstrap)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
