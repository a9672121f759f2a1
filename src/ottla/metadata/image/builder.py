"""Applies records to an image and notes what they changed.

Replay trusts the log: a record that refers to something unknown (a partition of no topic, a change to an unregistered
broker) means that the log is damaged or was written by something else, and stops the replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from immutables import Map

from ottla.metadata.image.brokers import BrokerImage
from ottla.metadata.image.cluster import ClusterImage, ProducerIdsImage
from ottla.metadata.image.configs import ResourceType
from ottla.metadata.image.delta import ImageDelta
from ottla.metadata.image.kept_records import KeptRecords
from ottla.metadata.image.topics import PartitionState, TopicImage
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.clear_elr_record import ClearElrRecord
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.fence_broker_record import FenceBrokerRecord
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from ottla.protocol.messages.zk_migration_state_record import ZkMigrationStateRecord
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition
from ottla.protocol.uuids import uuid_to_text


class ImageBuilder:
    def __init__(self, base: ClusterImage | None = None) -> None:
        base = base or ClusterImage()
        self.topics = base.topics
        self.configs = base.configs
        self.brokers = base.brokers
        self.features = base.features
        self.producer_ids = base.producer_ids
        self.kept = base.kept
        self.zk_migration_state = base.zk_migration_state
        self.delta = ImageDelta()
        # Partitions that changed, as they were.
        self._before: dict[TopicIdPartition, PartitionState | None] = {}

    def apply(self, record: Message) -> None:
        if KeptRecords.keeps(record):
            self.kept = self.kept.with_record(record)
            self.delta.kept_records_changed = True
            return
        handler = _HANDLERS.get(type(record))
        if handler is None:
            raise UnreadableMetadata(f"{type(record).__name__} has no place in the cluster image")
        handler(self, record)

    def build(self, *, end_offset: int, epoch: int) -> ClusterImage:
        self.topics = self.topics.indexed_after(self._before)
        self._before = {}
        return ClusterImage(
            topics=self.topics,
            configs=self.configs,
            brokers=self.brokers,
            features=self.features,
            producer_ids=self.producer_ids,
            kept=self.kept,
            zk_migration_state=self.zk_migration_state,
            end_offset=end_offset,
            epoch=epoch,
        )

    # --- topics ---------------------------------------------------------------------------------------------------

    def _topic(self, record: TopicRecord) -> None:
        if self.topics.by_name(record.name) is not None:
            raise UnreadableMetadata(f"topic {record.name} is created twice")
        self.topics = self.topics.with_topic(TopicImage(record.name, record.topic_id, Map()))
        self.delta.created_topics.add(record.topic_id)

    def _partition(self, record: PartitionRecord) -> None:
        topic = self._known_topic(record.topic_id)
        before = topic.partition(record.partition_id)
        self._set_partition(topic, record.partition_id, before, PartitionState.of(record))

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self._known_topic(record.topic_id)
        state = topic.partition(record.partition_id)
        if state is None:
            raise UnreadableMetadata(f"change to unknown partition {record.partition_id}")
        self._set_partition(topic, record.partition_id, state, state.changed_by(record))

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._known_topic(record.topic_id)
        for partition_id, state in topic.partitions.items():
            self._before.setdefault((topic.id, partition_id), state)
        self.topics = self.topics.without_topic(topic.id)
        self.configs = self.configs.without((ResourceType.TOPIC, topic.name))
        self.delta.remove_topic(topic.id, topic.name)

    def _clear_elr(self, record: ClearElrRecord) -> None:
        if record.topic_name:
            named = self.topics.by_name(record.topic_name)
            if named is None:
                raise UnreadableMetadata(f"clears the eligible replicas of unknown topic {record.topic_name}")
            topics = [named]
        else:
            topics = list(self.topics)
        for topic in topics:
            for partition_id, state in topic.partitions.items():
                if state.eligible_leader_replicas or state.last_known_elr:
                    self._set_partition(self._known_topic(topic.id), partition_id, state, state.without_elr())

    def _known_topic(self, topic_id: bytes) -> TopicImage:
        topic = self.topics.by_id(topic_id)
        if topic is None:
            raise UnreadableMetadata(f"record for unknown topic id {uuid_to_text(topic_id)}")
        return topic

    def _set_partition(
        self, topic: TopicImage, partition_id: int, before: PartitionState | None, state: PartitionState
    ) -> None:
        key = (topic.id, partition_id)
        self._before.setdefault(key, before)
        self.topics = self.topics.with_partition(topic, partition_id, state)
        self.delta.changed_partitions.add(key)

    # --- brokers --------------------------------------------------------------------------------------------------

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._set_broker(BrokerImage.of(record))

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._known_broker(record.broker_id, record.broker_epoch)
        self.brokers = self.brokers.without(record.broker_id)
        self.delta.changed_brokers.add(record.broker_id)

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self._set_broker(self._known_broker(record.id, record.epoch).fenced(True))

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._set_broker(self._known_broker(record.id, record.epoch).fenced(False))

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        self._set_broker(self._known_broker(record.broker_id, record.broker_epoch).changed_by(record))

    def _known_broker(self, broker_id: int, epoch: int) -> BrokerImage:
        broker = self.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise UnreadableMetadata(f"record for broker {broker_id} with epoch {epoch}, registered is {broker}")
        return broker

    def _set_broker(self, broker: BrokerImage) -> None:
        self.brokers = self.brokers.with_broker(broker)
        self.delta.changed_brokers.add(broker.id)

    # --- the rest -------------------------------------------------------------------------------------------------

    def _config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        self.configs = self.configs.with_value(resource, record.name, record.value)
        self.delta.changed_configs.add(resource)

    def _feature_level(self, record: FeatureLevelRecord) -> None:
        if record.feature_level > 0:
            self.features = self.features.set(record.name, record.feature_level)
        elif record.name in self.features:
            self.features = self.features.delete(record.name)
        self.delta.features_changed = True

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        self.producer_ids = ProducerIdsImage(record.next_producer_id, record.broker_id, record.broker_epoch)
        self.delta.producer_ids_changed = True

    def _zk_migration_state(self, record: ZkMigrationStateRecord) -> None:
        self.zk_migration_state = record.zk_migration_state

    def _no_op(self, record: NoOpRecord) -> None:
        """Shows that the quorum is alive; changes nothing."""


_HANDLERS: dict[type[Message], Callable[[ImageBuilder, Any], None]] = {
    TopicRecord: ImageBuilder._topic,
    PartitionRecord: ImageBuilder._partition,
    PartitionChangeRecord: ImageBuilder._partition_change,
    RemoveTopicRecord: ImageBuilder._remove_topic,
    ClearElrRecord: ImageBuilder._clear_elr,
    RegisterBrokerRecord: ImageBuilder._register_broker,
    UnregisterBrokerRecord: ImageBuilder._unregister_broker,
    FenceBrokerRecord: ImageBuilder._fence_broker,
    UnfenceBrokerRecord: ImageBuilder._unfence_broker,
    BrokerRegistrationChangeRecord: ImageBuilder._change_broker,
    ConfigRecord: ImageBuilder._config,
    FeatureLevelRecord: ImageBuilder._feature_level,
    ProducerIdsRecord: ImageBuilder._producer_ids,
    ZkMigrationStateRecord: ImageBuilder._zk_migration_state,
    NoOpRecord: ImageBuilder._no_op,
}


def apply_records(
    image: ClusterImage, records: Iterable[Message], *, end_offset: int, epoch: int
) -> tuple[ClusterImage, ImageDelta]:
    """The image after some records, and what they changed."""
    builder = ImageBuilder(image)
    for record in records:
        builder.apply(record)
    return builder.build(end_offset=end_offset, epoch=epoch), builder.delta
