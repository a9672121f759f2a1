"""Topic `_schemas`: reads everything in it, for ever, into a state.

Every instance does this for itself. Only committed records count, so what a leader wrote that was fenced never shows.
A record that makes no sense is skipped, counted and named once. If the topic was deleted and made again, everything is
read anew: a state of something that is gone would be a wrong answer. Its id shows that, since offsets alone do not if
the new topic has grown past the place where the old one was read.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from ottla.client import Client, ClientError, ConsumerSettings, NewTopic, OffsetReset, OffsetSpec
from ottla.client.admin.configs import ConfigResource, ResourceType
from ottla.client.consumer import Consumer
from ottla.client.errors import KafkaError
from ottla.client.offsets import IsolationLevel
from ottla.client.records import Record as TopicRecord
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import ZERO_UUID
from ottla.registry.records import DamagedRecord, decode_record
from ottla.registry.state import RegistryState

logger = logging.getLogger("ottla.registry")

_POLL_MS: Final = 1_000
_RETRY_S: Final = 0.5
_NAMED_MAX: Final = 20
_POLICY: Final = "cleanup.policy"


class UnusableTopic(Exception):
    """The topic cannot keep schemas; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """By Confluent's names: kafkastore.topic, kafkastore.topic.replication.factor."""

    name: str = "_schemas"
    replication_factor: int = 3


class SchemasTopic:
    def __init__(self, client: Client, settings: TopicSettings) -> None:
        self.partition = TopicPartition(settings.name, 0)
        self.state = RegistryState()
        self.damaged_count = 0
        # How often everything was read anew: what was decided before that is void.
        self.restart_count = 0
        self._client = client
        self._settings = settings
        self._consumer: Consumer
        self._reading: asyncio.Task[None]
        self._topic_id = ZERO_UUID
        # The next offset to read; replaced and set with each step.
        self._position = 0
        self._moved = asyncio.Event()

    async def open(self) -> None:
        """Makes the topic if it is missing, and reads all that is in it. UnusableTopic if it cannot keep schemas."""
        await self._make_or_check()
        self._consumer = self._client.consumer(
            ConsumerSettings(isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.NONE, auto_commit=False)
        )
        self._consumer.assign([self.partition])
        await self._consumer.seek_to({self.partition: OffsetSpec.EARLIEST})
        self._topic_id = self._known_topic_id()
        self._reading = asyncio.get_running_loop().create_task(self._read())
        await self.catch_up()

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._consumer.close()

    async def catch_up(self) -> None:
        """Returns when everything was read that is committed now. ClientError if nobody can say where that ends."""
        listed = (await self._consumer.list_offsets({self.partition: OffsetSpec.LATEST}))[self.partition]
        if listed.error is not None:
            raise listed.error
        await self.until_read(listed.offset)

    async def until_read(self, end_offset: int) -> None:
        """Returns when everything before an offset was read; never, if it was in a topic that is gone."""
        while self._position < end_offset:
            await self._moved.wait()

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            try:
                await self._read_more()
            except ClientError as error:
                logger.warning("%s is not readable for now: %s", self._settings.name, error)
                await asyncio.sleep(_RETRY_S)

    async def _read_more(self) -> None:
        try:
            records = await self._consumer.poll(_POLL_MS)
        except KafkaError as error:
            if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            await self._read_anew()
            return
        if self._known_topic_id() not in (self._topic_id, ZERO_UUID):
            await self._read_anew()
            return
        for record in records:
            self._apply(record)
        position = self._consumer.position(self.partition)
        if position is not None and position != self._position:
            self._position = position
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()

    async def _read_anew(self) -> None:
        logger.error("%s was made anew: it is read from its beginning", self._settings.name)
        await self._consumer.seek_to({self.partition: OffsetSpec.EARLIEST})
        self._topic_id = self._known_topic_id()
        self.state = RegistryState()
        self.restart_count += 1
        self._position = 0

    def _known_topic_id(self) -> bytes:
        return self._client.cluster.metadata.topic_id(self._settings.name)

    def _apply(self, record: TopicRecord) -> None:
        try:
            self.state = self.state.apply(decode_record(record.key, record.value))
        except DamagedRecord as error:
            self.damaged_count += 1
            if self.damaged_count <= _NAMED_MAX:
                logger.warning("%s: the record at offset %d is skipped: %s", self._settings.name, record.offset, error)

    # -- the topic ----------------------------------------------------------------------------------------------------

    async def _make_or_check(self) -> None:
        name = self._settings.name
        found = (await self._client.admin.describe_topics([name])).get(name)
        if found is None or not found.partitions:
            await self._make()
            return
        if len(found.partitions) != 1:
            raise UnusableTopic(
                f"topic {name} has {len(found.partitions)} partitions, and schemas need their order: it must have one. "
                "Name another topic (kafkastore.topic), or copy it into one"
            )
        resource = ConfigResource(ResourceType.TOPIC, name)
        described = (await self._client.admin.describe_configs([resource], names=[_POLICY]))[resource]
        policy = described.entries[_POLICY].value if _POLICY in described.entries else None
        if policy != "compact":
            raise UnusableTopic(
                f"topic {name} has {_POLICY}={policy}, so schemas would be deleted when they are old. Correct it: "
                f"ottla configs alter topics {name} --set {_POLICY}=compact --execute"
            )

    async def _make(self) -> None:
        """With as many replicas as are wanted, or as there are brokers."""
        brokers = (await self._client.admin.describe_cluster()).brokers
        replicas = min(self._settings.replication_factor, len(brokers))
        if replicas < self._settings.replication_factor:
            logger.warning(
                "%s gets %d of the %d replicas that are wanted: there are no more brokers",
                self._settings.name,
                replicas,
                self._settings.replication_factor,
            )
        wanted = NewTopic(self._settings.name, 1, replicas, {_POLICY: "compact"})
        created = (await self._client.admin.create_topics([wanted]))[self._settings.name]
        if created.error is not None and created.error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise UnusableTopic(f"topic {self._settings.name} cannot be made: {created.error}")
