"""An administrator under faults: it makes topics, changes and deletes them, and looks whether it is as it was told.

What it may expect is told in `administered_topics`. It writes some records of its own, so that there is something to
delete and to move between the directories of a broker.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from ottla.client import (
    Client,
    ConfigChange,
    ConfigResource,
    FetchLimits,
    NewTopic,
    Producer,
    ProducerSettings,
    ResourceType,
    TopicPartition,
)
from ottla.client.admin.configs import ConfigSource
from ottla.client.retries import Retry
from ottla.protocol.record_batch import batch_records, iterate_headers
from ottla.testing.history import Anomaly, Recorder
from ottla.testing.sim.administered_topics import AdministeredTopic, AdministeredTopics
from ottla.testing.sim.load import DELIVERY_TIMEOUT_MS, LIMITS, Load, Pace

TOPICS_MAX = 3
PARTITIONS_MAX = 4
CHANGES_MAX = 3
RECORDS_MAX = 5
DELETION_SHARE = 0.07
# Each value of a setting is another one. None of them lets a record expire within a run.
_FIRST_VALUES = {"retention.ms": 7 * 86_400_000, "segment.bytes": 1 << 20, "segment.ms": 500}
_AT_ONCE = FetchLimits(max_wait_ms=0)

_Work = Callable[[Client, Producer, AdministeredTopic, random.Random], Awaitable[None]]


class AdminLoad(Load):
    """One administrator, through all its lives."""

    def __init__(
        self, name: str, bootstrap: str, recorder: Recorder, pace: Pace, life: Callable[[], int | None]
    ) -> None:
        """`life` tells which life the server is in, None if another one may take over from it at any time."""
        super().__init__(name, bootstrap, recorder, pace)
        self.topics = AdministeredTopics()
        self.anomalies: list[Anomaly] = []
        self._server_life = life
        # Whether the change under way was asked for more than once.
        self._is_repeated = False
        self._works: dict[_Work, int] = {
            self._write: 4,
            self._set: 3,
            self._delete_records: 3,
            self._move: 3,
            self._add_partitions: 1,
        }

    def note_retry(self, retry: Retry) -> None:
        del retry
        self._is_repeated = True

    async def work(self, client: Client, life: str, chance: random.Random) -> None:
        del life
        async with client.producer(ProducerSettings(delivery_timeout_ms=DELIVERY_TIMEOUT_MS)) as producer:
            while not self.is_over:
                for _ in range(chance.randint(1, CHANGES_MAX)):
                    self._is_repeated = False
                    await self._change(client, producer, chance)
                # Of several brokers one may not have heard of a change yet that another one has acknowledged.
                if self._server_life() is not None and chance.random() < 0.5:
                    await self.look(client)
                await self.rest(chance)

    async def _change(self, client: Client, producer: Producer, chance: random.Random) -> None:
        topics = list(self.topics.topics.values())
        if len(topics) < TOPICS_MAX and chance.random() < 0.5:
            await self._create(client, chance)
        elif topics:
            topic = chance.choice(topics)
            if chance.random() < DELETION_SHARE:
                await self._delete(client, topic)
                return
            (work,) = chance.choices(list(self._works), list(self._works.values()))
            # Stays in doubt if this life ends before the answer has come.
            topic.in_doubt_count += 1
            await work(client, producer, topic, chance)
            if not self._is_repeated:
                topic.in_doubt_count -= 1

    # -- changes ------------------------------------------------------------------------------------------------------

    async def _create(self, client: Client, chance: random.Random) -> None:
        name, setting = self.topics.take_name(), chance.choice(list(_FIRST_VALUES))
        configs = {setting: self._value(setting)}
        new = NewTopic(name, chance.randint(1, 2), configs=configs)
        created = (await client.admin.create_topics([new], timeout_ms=DELIVERY_TIMEOUT_MS))[name]
        if created.error is None:
            self.topics.created(name, created.topic_id, created.partitions, configs)

    async def _delete(self, client: Client, topic: AdministeredTopic) -> None:
        self.topics.ask_deletion(topic.name)
        errors = await client.admin.delete_topics([topic.name], timeout_ms=DELIVERY_TIMEOUT_MS)
        if errors[topic.name] is None:
            self.topics.acknowledge_deletion(topic, was_repeated=self._is_repeated)

    async def _set(self, client: Client, _: Producer, topic: AdministeredTopic, chance: random.Random) -> None:
        name = chance.choice(list(_FIRST_VALUES))
        value, setting, resource = self._value(name), topic.setting(name), _resource(topic)
        setting.ask(value)
        errors = await client.admin.alter_configs({resource: [ConfigChange(name, value)]})
        if errors[resource] is None:
            setting.acknowledge(value, was_repeated=self._is_repeated)

    async def _add_partitions(self, client: Client, _: Producer, topic: AdministeredTopic, __: random.Random) -> None:
        count = topic.partitions_asked + 1
        if count > PARTITIONS_MAX:
            return
        topic.partitions_asked = count
        errors = await client.admin.create_partitions({topic.name: count}, timeout_ms=DELIVERY_TIMEOUT_MS)
        if errors[topic.name] is None:
            topic.partitions_acknowledged = count

    async def _write(self, _: Client, producer: Producer, topic: AdministeredTopic, chance: random.Random) -> None:
        partition = chance.randrange(topic.partitions_acknowledged)
        for _number in range(chance.randint(1, RECORDS_MAX)):
            value = f"record-{self.topics.take_number()}".encode()
            written = await (await producer.send(topic.name, value, partition=partition))
            topic.log(partition).written[written.offset] = value

    async def _delete_records(
        self, client: Client, _: Producer, topic: AdministeredTopic, chance: random.Random
    ) -> None:
        number = chance.randrange(topic.partitions_acknowledged)
        partition, log = TopicPartition(topic.name, number), topic.log(number)
        log.start_asked = before = chance.randint(log.start_asked, max(log.start_asked, log.end))
        life = self._server_life()
        deleted = (await client.admin.delete_records({partition: before}, timeout_ms=DELIVERY_TIMEOUT_MS))[partition]
        if deleted.error is None and life is not None and self._server_life() == life:
            log.saw_start(deleted.low_watermark, life)

    async def _move(self, client: Client, _: Producer, topic: AdministeredTopic, chance: random.Random) -> None:
        """Moves a replica to some directory of its broker; that it has begun is all that is acknowledged."""
        partition = TopicPartition(topic.name, chance.randrange(topic.partitions_acknowledged))
        brokers = await client.admin.describe_log_dirs()
        broker_id = chance.choice(sorted(brokers))
        paths = sorted(one.path for one in brokers[broker_id])
        await client.admin.alter_replica_log_dirs({partition: chance.choice(paths)}, broker_id=broker_id)

    def _value(self, setting: str) -> str:
        return str(_FIRST_VALUES[setting] + self.topics.take_number())

    # -- looking ------------------------------------------------------------------------------------------------------

    async def look(self, client: Client) -> None:
        """Compares everything with what must be so.

        Of several brokers, one that is cut off from the controllers tells what it heard last. So what is missing counts
        only when everything is healed.
        """
        may_be_old = self._server_life() is None and not self.is_over
        described = await client.admin.describe_topics()
        listing = {one.topic_id: (one.name, len(one.partitions)) for one in described.values()}
        missing = list(self.topics.check_listing(listing))
        if missing:
            self.anomalies += [] if may_be_old else missing
            return
        for topic in list(self.topics.topics.values()):
            resource = _resource(topic)
            found = (await client.admin.describe_configs([resource]))[resource]
            if found.error is not None:
                raise found.error
            own = {name: entry.value for name, entry in found.entries.items() if entry.source is ConfigSource.TOPIC}
            if not may_be_old:
                self.anomalies += topic.check_settings(own)
            for number in range(topic.partitions_acknowledged):
                await self._look_at_log(client, topic, number)

    async def _look_at_log(self, client: Client, topic: AdministeredTopic, number: int) -> None:
        log = topic.log(number)
        life = self._server_life()
        # Where the log begins is told with every fetch, and a fetch from behind its end would not be answered.
        fetched = await client.fetch_batches(topic.name, number, log.end, limits=_AT_ONCE)
        start, found = fetched.log_start_offset, dict[int, bytes]()
        offset = start
        while offset < fetched.high_watermark:
            # With patience: a node that has less than it says must not keep the simulator busy.
            fetched = await client.fetch_batches(topic.name, number, offset, limits=LIMITS)
            for position, header in iterate_headers(fetched.batches):
                for record in batch_records(fetched.batches, header, position):
                    found[header.base_offset + record.offset_delta] = record.value or b""
                offset = header.last_offset + 1
        if self._server_life() != life:
            life = None
        self.anomalies += log.check(f"{topic.name}-{number}", start, found, life)
        if life is not None:
            log.saw_start(start, life)


def _resource(topic: AdministeredTopic) -> ConfigResource:
    return ConfigResource(ResourceType.TOPIC, topic.name)
