"""confluent-kafka: librdkafka, current release."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from harness.clients.contract import (
    HEARTBEAT_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
    UNCOMMITTED,
    Client,
    Feature,
    Member,
    Received,
    Record,
    TransactionalProducer,
)

TIMEOUT_S = 30.0


def received(message: Message) -> Received:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    headers = tuple((name, value) for name, value in message.headers() or [])
    record = Record(message.value(), message.key(), headers, message.timestamp()[1])
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return Received(record, partition, offset)


def take(consumer: Consumer, count: int) -> list[Received]:
    taken: list[Received] = []
    while len(taken) < count:
        messages = consumer.consume(count - len(taken), timeout=TIMEOUT_S)
        if not messages:
            raise TimeoutError(f"{len(taken)} of {count} records within {TIMEOUT_S:g} s")
        taken += map(received, messages)
    return taken


class ConfluentMember(Member):
    def __init__(self, bootstrap: str, topic: str, group: str, instance_id: str | None, cooperative: bool) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "partition.assignment.strategy": "cooperative-sticky" if cooperative else "range",
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            "session.timeout.ms": SESSION_TIMEOUT_MS,
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        self._consumer = Consumer(settings)
        self._assignment: frozenset[int] = frozenset()
        self._revocations = 0
        self._closing = threading.Event()
        self._consumer.subscribe([topic], on_revoke=self._on_revoke)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._revocations += bool(partitions)

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._consumer.poll(0.1)
            self._assignment = frozenset(part.partition for part in self._consumer.assignment())
        self._consumer.close()

    def assignment(self) -> frozenset[int]:
        return self._assignment

    def revocations(self) -> int:
        return self._revocations

    def close(self) -> None:
        self._closing.set()
        self._thread.join()


class ConfluentTransactionalProducer(TransactionalProducer):
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "linger.ms": 0,
                # Being fenced is no news to a test that wants it.
                "log_level": 0,
            }
        )
        self._producer.init_transactions(TIMEOUT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, *values: bytes) -> None:
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        for value in values:
            self._producer.produce(topic, value, partition=partition, on_delivery=on_delivery)
        assert self._producer.flush(TIMEOUT_S) == 0, "not everything was acknowledged"
        if failures:
            raise KafkaException(failures[0])

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
        try:
            metadata = consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction([TopicPartition(topic, partition, offset)], metadata, TIMEOUT_S)
        finally:
            consumer.close()

    def commit(self) -> None:
        self._producer.commit_transaction(TIMEOUT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(TIMEOUT_S)

    def close(self) -> None:
        self._producer.purge()


class ConfluentKafka(Client):
    name = "confluent-kafka"
    features = frozenset(Feature)

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        partition: int = 0,
        acks: str = "all",
        codec: str = "none",
        idempotent: bool = False,
    ) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "acks": acks,
                "compression.type": codec,
                "enable.idempotence": idempotent,
                "linger.ms": 20,
            }
        )
        failures: list[object] = []

        def on_delivery(error: object, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        for record in records:
            timestamp = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
            producer.produce(
                topic,
                record.value,
                record.key,
                partition,
                on_delivery=on_delivery,
                headers=list(record.headers),
                **timestamp,
            )
        assert producer.flush(TIMEOUT_S) == 0, "not everything was acknowledged"
        assert not failures, failures

    def read(
        self, topic: str, partition: int, offset: int, count: int, *, isolation: str = UNCOMMITTED
    ) -> list[Received]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "check.crcs": True,
                "isolation.level": isolation,
            }
        )
        consumer.assign([TopicPartition(topic, partition, offset)])
        try:
            return take(consumer, count)
        finally:
            consumer.close()

    def consume(self, topic: str, group: str, count: int) -> list[Received]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        try:
            taken = take(consumer, count)
            consumer.commit(asynchronous=False)
            return taken
        finally:
            consumer.close()

    def transactional_producer(self, transactional_id: str, *, timeout_ms: int = 60_000) -> TransactionalProducer:
        return ConfluentTransactionalProducer(self.bootstrap, transactional_id, timeout_ms)

    def member(self, topic: str, group: str, *, instance_id: str | None = None, cooperative: bool = False) -> Member:
        return ConfluentMember(self.bootstrap, topic, group, instance_id, cooperative)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused"})
        try:
            [found] = consumer.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], timeout=TIMEOUT_S)
        finally:
            consumer.close()
        return found.offset if found.offset >= 0 else None

    def end_offset(self, topic: str, partition: int) -> int:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused"})
        try:
            _low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
        finally:
            consumer.close()
        return int(high)

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])
        answer = self._admin.list_consumer_group_offsets([request])[group].result(TIMEOUT_S)
        [found] = answer.topic_partitions
        return found.offset if found.offset >= 0 else None

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(configs))
        self._admin.create_topics([new])[topic].result(TIMEOUT_S)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def topics(self) -> dict[str, int]:
        return {
            name: len(topic.partitions) for name, topic in self._admin.list_topics(timeout=TIMEOUT_S).topics.items()
        }

    def brokers(self) -> dict[int, str]:
        return {node: str(broker) for node, broker in self._admin.list_topics(timeout=TIMEOUT_S).brokers.items()}

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(TIMEOUT_S)

    def topic_config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        value = self._admin.describe_configs([resource])[resource].result(TIMEOUT_S)[name].value
        assert isinstance(value, str)
        return value

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        self._admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)

    def groups(self) -> set[str]:
        listing = self._admin.list_consumer_groups().result(TIMEOUT_S)
        assert not listing.errors, listing.errors
        return {group.group_id for group in listing.valid}

    def describe_group(self, group: str) -> tuple[str, int]:
        description = self._admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
        return description.state.name.title().replace("_", ""), len(description.members)

    def delete_group(self, group: str) -> None:
        self._admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        part = TopicPartition(topic, partition, before_offset)
        self._admin.delete_records([part])[part].result(TIMEOUT_S)
