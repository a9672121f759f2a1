"""The immutable picture of the cluster after some prefix of the metadata log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from immutables import Map

from ottla.metadata.image.brokers import BrokersImage
from ottla.metadata.image.configs import ConfigsImage
from ottla.metadata.image.kept_records import ACL, CONTROLLER, QUOTA, SCRAM, TOKEN, KeptRecords
from ottla.metadata.image.topics import TopicsImage
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from ottla.protocol.messages.zk_migration_state_record import ZkMigrationStateRecord
from ottla.protocol.schema import Message

METADATA_VERSION = "metadata.version"


@dataclass(frozen=True, slots=True)
class ProducerIdsImage:
    """The first producer id that no block contains yet, and the broker that took the last block."""

    next_producer_id: int = 0
    broker_id: int = -1
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """`end_offset` is the offset after the last record applied, `epoch` that record's leader epoch; neither takes part
    in comparisons, which are about content."""

    topics: TopicsImage = field(default_factory=TopicsImage)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    brokers: BrokersImage = field(default_factory=BrokersImage)
    features: Map[str, int] = field(default_factory=Map)
    producer_ids: ProducerIdsImage = field(default_factory=ProducerIdsImage)
    kept: KeptRecords = field(default_factory=KeptRecords)
    zk_migration_state: int = 0
    end_offset: int = field(default=0, compare=False)
    epoch: int = field(default=0, compare=False)

    @property
    def metadata_version(self) -> int:
        level: int = self.features.get(METADATA_VERSION, 0)
        return level

    def indexed(self) -> ClusterImage:
        """The same, with an index of its partitions, and so are the images that follow from it."""
        return replace(self, topics=self.topics.indexed())

    def to_records(self) -> Iterator[Message]:
        """Records that rebuild this image from nothing, in the order of Kafka's snapshots."""
        for name in sorted(self.features, key=lambda name: (name != METADATA_VERSION, name)):
            yield FeatureLevelRecord(name=name, feature_level=self.features[name])
        if self.zk_migration_state:
            yield ZkMigrationStateRecord(zk_migration_state=self.zk_migration_state)
        yield from self.brokers.to_records()
        yield from self.kept.to_records(CONTROLLER)
        yield from self.topics.to_records()
        yield from self.configs.to_records()
        yield from self.kept.to_records(QUOTA)
        ids = self.producer_ids
        if ids != ProducerIdsImage():
            yield ProducerIdsRecord(
                broker_id=ids.broker_id, broker_epoch=ids.broker_epoch, next_producer_id=ids.next_producer_id
            )
        yield from self.kept.to_records(ACL, SCRAM, TOKEN)
