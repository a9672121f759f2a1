"""kafka-python: the pure Python client."""

import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

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

# It reads its schemas through a deprecated function; our own code is held to warnings as errors.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.consumer.fetcher import ConsumerRecord
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor

    from kafka import (
        ConsumerRebalanceListener,
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        OffsetAndMetadata,
        TopicPartition,
    )

TIMEOUT_S = 30.0


def received(message: ConsumerRecord) -> Received:
    record = Record(message.value, message.key, tuple(message.headers), message.timestamp)
    return Received(record, message.partition, message.offset)


def take(consumer: KafkaConsumer, count: int) -> list[Received]:
    taken: list[Received] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(taken) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(taken)} of {count} records within {TIMEOUT_S:g} s")
        for messages in consumer.poll(500, max_records=count - len(taken)).values():
            taken += map(received, messages)
    return taken


class KafkaPythonMember(Member, ConsumerRebalanceListener):
    def __init__(self, bootstrap: str, topic: str, group: str, instance_id: str | None, cooperative: bool) -> None:
        settings: dict[str, Any] = {} if instance_id is None else {"group_instance_id": instance_id}
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[CooperativeStickyAssignor if cooperative else RangePartitionAssignor],
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            **settings,
        )
        self._assignment: frozenset[int] = frozenset()
        self._revocations = 0
        self._closing = threading.Event()
        # It may stall when a topic's metadata first arrives in the middle of a rebalance (on Apache Kafka too).
        self._consumer.partitions_for_topic(topic)
        self._consumer.subscribe([topic], listener=self)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._revocations += bool(revoked)

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        pass

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._consumer.poll(100)
            self._assignment = frozenset(part.partition for part in self._consumer.assignment())
        self._consumer.close(autocommit=False)

    def assignment(self) -> frozenset[int]:
        return self._assignment

    def revocations(self) -> int:
        return self._revocations

    def close(self) -> None:
        self._closing.set()
        self._thread.join()


class KafkaPythonTransactionalProducer(TransactionalProducer):
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, *values: bytes) -> None:
        for future in [self._producer.send(topic, value, partition=partition) for value in values]:
            future.get(TIMEOUT_S)

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        offsets = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self._producer.send_offsets_to_transaction(offsets, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=0)


class KafkaPython(Client):
    name = "kafka-python"
    features = frozenset(Feature)
    # Its snappy needs one more package.
    codecs = ("none", "gzip", "lz4", "zstd")

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def close(self) -> None:
        self._admin.close()

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
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks=acks if acks == "all" else int(acks),
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=20,
        )
        try:
            sent = [
                producer.send(topic, record.value, record.key, list(record.headers), partition, record.timestamp_ms)
                for record in records
            ]
            for future in sent:
                future.get(TIMEOUT_S)
        finally:
            producer.close()

    def read(
        self, topic: str, partition: int, offset: int, count: int, *, isolation: str = UNCOMMITTED
    ) -> list[Received]:
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, isolation_level=isolation)
        try:
            part = TopicPartition(topic, partition)
            consumer.assign([part])
            consumer.seek(part, offset)
            return take(consumer, count)
        finally:
            consumer.close()

    def consume(self, topic: str, group: str, count: int) -> list[Received]:
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=self.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        try:
            taken = take(consumer, count)
            consumer.commit()
            return taken
        finally:
            consumer.close()

    def transactional_producer(self, transactional_id: str, *, timeout_ms: int = 60_000) -> TransactionalProducer:
        return KafkaPythonTransactionalProducer(self.bootstrap, transactional_id, timeout_ms)

    def member(self, topic: str, group: str, *, instance_id: str | None = None, cooperative: bool = False) -> Member:
        return KafkaPythonMember(self.bootstrap, topic, group, instance_id, cooperative)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap)
        try:
            part = TopicPartition(topic, partition)
            found = consumer.offsets_for_times({part: timestamp_ms})[part]
        finally:
            consumer.close()
        return None if found is None else int(found.offset)

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        part = TopicPartition(topic, partition)
        found = self._admin.list_group_offsets({group: [part]})[group].get(part)
        return None if found is None or found.offset < 0 else int(found.offset)

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        options = {"num_partitions": partitions, "replication_factor": 1, "configs": dict(configs)}
        self._admin.create_topics({topic: options})

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])

    def topics(self) -> dict[str, int]:
        return {topic["name"]: len(topic["partitions"]) for topic in self._admin.describe_topics()}

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions({topic: total})

    def topic_config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        answer = self._admin.describe_configs([resource], config_filter="all")
        return str(answer["topic"][topic][name]["value"])

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})])

    def groups(self) -> set[str]:
        return {group["group_id"] for group in self._admin.list_groups()}

    def describe_group(self, group: str) -> tuple[str, int]:
        description = self._admin.describe_groups([group])[group]
        return str(description["group_state"]), len(description["members"])

    def delete_group(self, group: str) -> None:
        answer = self._admin.delete_groups([group])
        assert answer[group] == "OK", answer

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self._admin.delete_records({TopicPartition(topic, partition): before_offset})

    def transaction_states(self) -> dict[str, str]:
        found = self._admin.list_transactions().values()
        return {one.transactional_id: one.state.value for listing in found for one in listing}

    def transaction_partitions(self, transactional_id: str) -> set[tuple[str, int]]:
        found = self._admin.describe_transactions([transactional_id])[transactional_id]
        return {(part.topic, part.partition) for part in found.topic_partitions}

    def transaction_start_offsets(self, topic: str, partition: int) -> list[int]:
        """Where the open transactions of a partition begin."""
        part = TopicPartition(topic, partition)
        return [
            one.current_transaction_start_offset
            for one in self._admin.describe_producers([part])[part].active_producers
        ]
