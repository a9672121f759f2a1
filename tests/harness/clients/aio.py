"""aiokafka: an older client of the protocol, at the bottom of many version ranges."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError

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

T = TypeVar("T")

TIMEOUT_S = 30.0


class LoopThread:
    """An event loop in a thread of its own, so that members poll while the test goes on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def received(message: "ConsumerRecord[bytes, bytes]") -> Received:
    record = Record(message.value, message.key, tuple(message.headers), message.timestamp)
    return Received(record, message.partition, message.offset)


async def take(consumer: AIOKafkaConsumer, count: int) -> list[Received]:
    taken: list[Received] = []
    async with asyncio.timeout(TIMEOUT_S):
        while len(taken) < count:
            polled = await consumer.getmany(timeout_ms=500, max_records=count - len(taken))
            for messages in polled.values():
                taken += map(received, messages)
    return taken


class AioMember(Member, ConsumerRebalanceListener):
    def __init__(self, loop: LoopThread, bootstrap: str, topic: str, group: str, instance_id: str | None) -> None:
        self._loop = loop
        self._assignment: frozenset[int] = frozenset()
        self._revocations = 0
        self._consumer, self._polling = loop.call(self._start(bootstrap, topic, group, instance_id))

    async def _start(
        self, bootstrap: str, topic: str, group: str, instance_id: str | None
    ) -> tuple[AIOKafkaConsumer, "asyncio.Task[None]"]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id=instance_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=(RangePartitionAssignor,),
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            session_timeout_ms=SESSION_TIMEOUT_MS,
        )
        consumer.subscribe([topic], listener=self)
        await consumer.start()
        return consumer, asyncio.create_task(self._poll(consumer))

    async def _poll(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            await consumer.getmany(timeout_ms=100)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._revocations += bool(revoked)

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._assignment = frozenset(part.partition for part in assigned)

    def assignment(self) -> frozenset[int]:
        return self._assignment

    def revocations(self) -> int:
        return self._revocations

    def close(self) -> None:
        self._loop.call(self._stop())

    async def _stop(self) -> None:
        self._polling.cancel()
        await self._consumer.stop()


class AioTransactionalProducer(TransactionalProducer):
    def __init__(self, loop: LoopThread, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._loop = loop
        self._producer = loop.call(self._start(bootstrap, transactional_id, timeout_ms))

    async def _start(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
        )
        try:
            await producer.start()
        except KafkaError:
            await producer.stop()
            raise
        return producer

    def begin(self) -> None:
        self._loop.call(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, *values: bytes) -> None:
        async def work() -> None:
            sent = [await self._producer.send(topic, value, partition=partition) for value in values]
            await asyncio.gather(*sent)

        self._loop.call(work())

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._loop.call(self._producer.send_offsets_to_transaction({TopicPartition(topic, partition): offset}, group))

    def commit(self) -> None:
        self._loop.call(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.call(self._producer.abort_transaction())

    def close(self) -> None:
        with contextlib.suppress(KafkaError):
            self._loop.call(self._producer.stop())


class AioKafka(Client):
    name = "aiokafka"
    features = frozenset(Feature) - {Feature.COOPERATIVE, Feature.GROUP_DELETION}

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._loop = LoopThread()
        self._admin = self._loop.call(self._start_admin())

    async def _start_admin(self) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        return admin

    def close(self) -> None:
        self._loop.call(self._admin.close())
        self._loop.close()

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
        async def work() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                acks=acks if acks == "all" else int(acks),
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                linger_ms=20,
            )
            async with producer:
                sent = [
                    await producer.send(
                        topic, record.value, record.key, partition, record.timestamp_ms, list(record.headers)
                    )
                    for record in records
                ]
                await asyncio.gather(*sent)

        self._loop.call(work())

    def read(
        self, topic: str, partition: int, offset: int, count: int, *, isolation: str = UNCOMMITTED
    ) -> list[Received]:
        async def work() -> list[Received]:
            part = TopicPartition(topic, partition)
            async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap, isolation_level=isolation) as consumer:
                consumer.assign([part])
                consumer.seek(part, offset)
                return await take(consumer, count)

        return self._loop.call(work())

    def consume(self, topic: str, group: str, count: int) -> list[Received]:
        async def work() -> list[Received]:
            consumer = AIOKafkaConsumer(
                topic,
                bootstrap_servers=self.bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            async with consumer:
                taken = await take(consumer, count)
                await consumer.commit()
                return taken

        return self._loop.call(work())

    def transactional_producer(self, transactional_id: str, *, timeout_ms: int = 60_000) -> TransactionalProducer:
        return AioTransactionalProducer(self._loop, self.bootstrap, transactional_id, timeout_ms)

    def member(self, topic: str, group: str, *, instance_id: str | None = None, cooperative: bool = False) -> Member:
        assert not cooperative
        return AioMember(self._loop, self.bootstrap, topic, group, instance_id)

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        async def work() -> int | None:
            part = TopicPartition(topic, partition)
            async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap) as consumer:
                found = (await consumer.offsets_for_times({part: timestamp_ms}))[part]
            return None if found is None else int(found.offset)

        return self._loop.call(work())

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        part = TopicPartition(topic, partition)
        found = self._loop.call(self._admin.list_consumer_group_offsets(group, partitions=[part])).get(part)
        return None if found is None or found.offset < 0 else int(found.offset)

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = NewTopic(topic, partitions, 1, topic_configs=dict(configs))
        answer = self._loop.call(self._admin.create_topics([new]))
        assert answer.topic_errors[0][1] == 0, answer

    def delete_topic(self, topic: str) -> None:
        answer = self._loop.call(self._admin.delete_topics([topic]))
        assert answer.topic_error_codes[0][1] == 0, answer

    def topics(self) -> dict[str, int]:
        described = self._loop.call(self._admin.describe_topics())
        return {topic["topic"]: len(topic["partitions"]) for topic in described}

    def add_partitions(self, topic: str, total: int) -> None:
        self._loop.call(self._admin.create_partitions({topic: NewPartitions(total)}))

    def topic_config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        [answer] = self._loop.call(self._admin.describe_configs([resource]))
        [(_, _, _, _, entries)] = answer.resources
        return str(next(entry[1] for entry in entries if entry[0] == name))

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        [answer] = self._loop.call(self._admin.alter_configs([resource]))
        assert answer.resources[0][0] == 0, answer

    def groups(self) -> set[str]:
        return {group[0] for group in self._loop.call(self._admin.list_consumer_groups())}

    def describe_group(self, group: str) -> tuple[str, int]:
        [answer] = self._loop.call(self._admin.describe_consumer_groups([group]))
        [(error, _, state, _, _, members, *_)] = answer.groups
        assert error == 0, answer
        return str(state), len(members)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        part = TopicPartition(topic, partition)
        self._loop.call(self._admin.delete_records({part: RecordsToDelete(before_offset)}))
