"""Topics and their partitions, by id and by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from immutables import Map

from ottla.metadata.image.partition_index import PartitionIndex
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition
from ottla.protocol.uuids import ZERO_UUID

NO_LEADER = -1
# In a PartitionChangeRecord: the leader, or the recovery state, stays as it is.
NO_LEADER_CHANGE = -2
_NO_RECOVERY_CHANGE = -1
UNASSIGNED_DIRECTORY = ZERO_UUID


@dataclass(frozen=True, slots=True)
class PartitionState:
    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = 0
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> bytes:
        """Where a broker keeps its replica, as far as it was reported; unassigned for a broker without a replica."""
        for replica, directory in zip(self.replicas, self.directories, strict=True):
            if replica == broker_id:
                return directory
        return UNASSIGNED_DIRECTORY

    @staticmethod
    def of(record: PartitionRecord) -> PartitionState:
        return PartitionState(
            replicas=tuple(record.replicas),
            directories=_fit_directories(record.directories, len(record.replicas)),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def changed_by(self, record: PartitionChangeRecord) -> PartitionState:
        """Every change raises the partition epoch; only a change of leader raises the leader epoch."""
        leads_anew = record.leader != NO_LEADER_CHANGE
        recovery = record.leader_recovery_state
        return PartitionState(
            replicas=_or_kept(record.replicas, self.replicas),
            directories=self._directories_after(record),
            isr=_or_kept(record.isr, self.isr),
            leader=record.leader if leads_anew else self.leader,
            leader_epoch=self.leader_epoch + 1 if leads_anew else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=self.leader_recovery_state if recovery == _NO_RECOVERY_CHANGE else recovery,
            removing_replicas=_or_kept(record.removing_replicas, self.removing_replicas),
            adding_replicas=_or_kept(record.adding_replicas, self.adding_replicas),
            eligible_leader_replicas=_or_kept(record.eligible_leader_replicas, self.eligible_leader_replicas),
            last_known_elr=_or_kept(record.last_known_elr, self.last_known_elr),
        )

    def without_elr(self) -> PartitionState:
        return replace(self, eligible_leader_replicas=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1)

    def to_record(self, topic_id: bytes, partition_id: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=self.directories,
            eligible_leader_replicas=self.eligible_leader_replicas or None,
            last_known_elr=self.last_known_elr or None,
        )

    def _directories_after(self, record: PartitionChangeRecord) -> tuple[bytes, ...]:
        if record.directories is not None:
            return tuple(record.directories)
        if record.replicas is None:
            return self.directories
        known = dict(zip(self.replicas, self.directories, strict=True))
        return tuple(known.get(replica, UNASSIGNED_DIRECTORY) for replica in record.replicas)


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    id: bytes
    partitions: Map[int, PartitionState]

    def partition(self, partition_id: int) -> PartitionState | None:
        found: PartitionState | None = self.partitions.get(partition_id)
        return found


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """`_clashing` groups the names that differ only in '.' and '_', which metrics cannot tell apart.

    `index` finds partitions by their brokers. Only the active controller asks for it, and keeping it costs as much as
    the replay itself. So an image has none until `indexed`; those that follow from it have one, which `indexed_after`
    brings up to date once for many changes.
    """

    _by_id: Map[bytes, TopicImage] = field(default_factory=Map)
    _id_by_name: Map[str, bytes] = field(default_factory=Map)
    _clashing: Map[str, frozenset[str]] = field(default_factory=Map)
    _index: PartitionIndex | None = field(default=None, compare=False)

    @property
    def index(self) -> PartitionIndex:
        """The index; without one in this image, it is built for the one who asks."""
        if self._index is not None:
            return self._index
        return PartitionIndex().changed(
            ((topic.id, partition_id), None, state)
            for topic in self._by_id.values()
            for partition_id, state in topic.partitions.items()
        )

    def indexed(self) -> TopicsImage:
        return replace(self, _index=self.index)

    def by_id(self, topic_id: bytes) -> TopicImage | None:
        found: TopicImage | None = self._by_id.get(topic_id)
        return found

    def by_name(self, name: str) -> TopicImage | None:
        topic_id = self._id_by_name.get(name)
        return None if topic_id is None else self.by_id(topic_id)

    def partition(self, topic_id: bytes, partition_id: int) -> PartitionState | None:
        topic = self.by_id(topic_id)
        return topic.partition(partition_id) if topic else None

    def partition_of(self, name: str, partition_id: int) -> PartitionState | None:
        """A partition by the name of its topic."""
        topic = self.by_name(name)
        return topic.partition(partition_id) if topic else None

    def names(self) -> Iterator[str]:
        return iter(self._id_by_name)

    def __iter__(self) -> Iterator[TopicImage]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def clashes_of(self, name: str) -> frozenset[str]:
        """The existing topics, `name` itself left out, whose metric names would be the same."""
        found: frozenset[str] = self._clashing.get(_metric_name(name), frozenset())
        return found - {name}

    def with_topic(self, topic: TopicImage) -> TopicsImage:
        clashing = self._clashing
        if _may_clash(topic.name):
            key = _metric_name(topic.name)
            clashing = clashing.set(key, clashing.get(key, frozenset()) | {topic.name})
        by_id, id_by_name = self._by_id.set(topic.id, topic), self._id_by_name.set(topic.name, topic.id)
        return TopicsImage(by_id, id_by_name, clashing, self._index)

    def with_partition(self, topic: TopicImage, partition_id: int, state: PartitionState) -> TopicsImage:
        """`topic` is as this image has it."""
        changed = TopicImage(topic.name, topic.id, topic.partitions.set(partition_id, state))
        return TopicsImage(self._by_id.set(topic.id, changed), self._id_by_name, self._clashing, self._index)

    def without_topic(self, topic_id: bytes) -> TopicsImage:
        topic = self._by_id[topic_id]
        clashing = self._clashing
        if _may_clash(topic.name):
            key = _metric_name(topic.name)
            rest = clashing.get(key, frozenset()) - {topic.name}
            clashing = clashing.set(key, rest) if rest else clashing.delete(key)
        return TopicsImage(self._by_id.delete(topic_id), self._id_by_name.delete(topic.name), clashing, self._index)

    def indexed_after(self, before: Mapping[TopicIdPartition, PartitionState | None]) -> TopicsImage:
        """With the index brought up to date; `before` has each partition that changed since, as the index knows it."""
        if not before or self._index is None:
            return self
        index = self._index.changed((key, old, self.partition(*key)) for key, old in before.items())
        return replace(self, _index=index)

    def to_records(self) -> Iterator[Message]:
        for topic in sorted(self._by_id.values(), key=lambda topic: topic.name):
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            for partition_id in sorted(topic.partitions):
                yield topic.partitions[partition_id].to_record(topic.id, partition_id)


def _metric_name(name: str) -> str:
    return name.replace(".", "_")


def _may_clash(name: str) -> bool:
    return "." in name or "_" in name


def _or_kept(changed: Sequence[int] | None, kept: tuple[int, ...]) -> tuple[int, ...]:
    return kept if changed is None else tuple(changed)


def _fit_directories(directories: Sequence[bytes], replica_count: int) -> tuple[bytes, ...]:
    """One directory for each replica; records from before directory ids carry none."""
    return tuple(directories) if len(directories) == replica_count else (UNASSIGNED_DIRECTORY,) * replica_count
