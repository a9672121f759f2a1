"""The offsets that groups have committed, in two views.

*Committed* is what a client may be told: records that the partition's high watermark has passed. *Latest* adds what has
been appended and not yet committed: deletions must see it, or a commit that is still in flight would outlive them.

A record of a transaction is committed like any other, and then pending until the transaction's marker is committed too
(`pending_offsets`). An offset is *unstable* while an appended record may still change it. Records in flight count as
well: a member that takes a partition over must not begin at an offset that its predecessor has already moved.
"""

from collections.abc import Iterator

from ottla.coordinator.group.pending_offsets import OffsetKey, PendingOffsets
from ottla.coordinator.group.records import CommittedOffset, OffsetRecord
from ottla.protocol.record_batch import NO_PRODUCER_ID
from ottla.protocol.topic_partition import TopicPartition


class OffsetStore:
    """Offsets by group, topic and partition."""

    __slots__ = ("_committed", "_in_flight", "_pending", "_pending_in_flight")

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        # Key -> the offsets in the records that are in flight for it, in log order; None deletes.
        self._in_flight: dict[OffsetKey, list[CommittedOffset | None]] = {}
        self._pending = PendingOffsets()
        # Key -> the offsets in the transactional records that are in flight for it.
        self._pending_in_flight: dict[OffsetKey, list[CommittedOffset | None]] = {}

    def committed(self, group_id: str) -> dict[str, dict[int, CommittedOffset]]:
        """The group's committed offsets by topic and partition; to be read, not changed."""
        return self._committed.get(group_id, {})

    def latest(self, group_id: str) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        """Every offset that the group will have once all that is in flight is committed."""
        for topic, partitions in self.committed(group_id).items():
            for partition, offset in partitions.items():
                if (group_id, topic, partition) not in self._in_flight:
                    yield TopicPartition(topic, partition), offset
        for (group, topic, partition), values in self._in_flight.items():
            value = values[-1]
            if group == group_id and value is not None:
                yield TopicPartition(topic, partition), value

    def latest_of(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The same for one partition."""
        in_flight = self._in_flight.get((group_id, topic, partition))
        if in_flight is not None:
            return in_flight[-1]
        return self.committed(group_id).get(topic, {}).get(partition)

    def possible(self, group_id: str, topic: str, partition: int) -> list[CommittedOffset]:
        """The latest offset, and every one that a transaction may replace it with."""
        key = (group_id, topic, partition)
        latest = self.latest_of(group_id, topic, partition)
        found = [] if latest is None else [latest]
        in_flight = (value for value in self._pending_in_flight.get(key, ()) if value is not None)
        return [*found, *self._pending.values(key), *in_flight]

    def pending(self, group_id: str) -> set[TopicPartition]:
        """The partitions in which a transaction may still change the group's offset."""
        in_flight = {
            TopicPartition(topic, partition) for group, topic, partition in self._pending_in_flight if group == group_id
        }
        return in_flight.union(self._pending.partitions(group_id))

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a transaction may still change the offset."""
        return self._pending.has(group_id, topic, partition) or (group_id, topic, partition) in self._pending_in_flight

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an appended record may still change what `committed` says of the partition."""
        return self.is_pending(group_id, topic, partition) or (group_id, topic, partition) in self._in_flight

    def has_any(self, group_id: str) -> bool:
        """Whether the group has an offset, in either view, or a pending one."""
        if group_id in self._committed or any(True for _ in self._pending.partitions(group_id)):
            return True
        return any(group == group_id for keys in (self._in_flight, self._pending_in_flight) for group, _, _ in keys)

    def group_ids(self) -> set[str]:
        """Every group with an offset, in either view, or a pending one."""
        in_flight = (group_id for keys in (self._in_flight, self._pending_in_flight) for group_id, _, _ in keys)
        return {*self._committed, *in_flight, *self._pending.group_ids()}

    def appended(self, record: OffsetRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """The record is in the log, but not committed."""
        key = (record.group_id, record.topic, record.partition)
        self._in_flight_of(producer_id).setdefault(key, []).append(record.value)

    def commit(self, record: OffsetRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """The record, appended before, is committed."""
        self.withdraw(record, producer_id)
        self.replay(record, producer_id)

    def withdraw(self, record: OffsetRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """A record that was reported as appended is not in flight any more."""
        in_flight = self._in_flight_of(producer_id)
        key = (record.group_id, record.topic, record.partition)
        # The oldest of equal ones: records leave in log order.
        in_flight[key].remove(record.value)
        if not in_flight[key]:
            del in_flight[key]

    def _in_flight_of(self, producer_id: int) -> dict[OffsetKey, list[CommittedOffset | None]]:
        return self._in_flight if producer_id == NO_PRODUCER_ID else self._pending_in_flight

    def replay(self, record: OffsetRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply a record that is known to be committed."""
        group_id, topic, partition, value = record
        if value is None:
            self._delete(group_id, topic, partition)
        elif producer_id != NO_PRODUCER_ID:
            self._pending.add(producer_id, (group_id, topic, partition), value)
        else:
            self._committed.setdefault(group_id, {}).setdefault(topic, {})[partition] = value
            if self._pending:
                self._pending.superseded((group_id, topic, partition))

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """The producer's marker is committed: its pending offsets take effect, or are dropped."""
        for group_id, topic, partition, value in self._pending.end(producer_id, is_commit=is_commit):
            assert value is not None, "a transaction deletes nothing"
            self._committed.setdefault(group_id, {}).setdefault(topic, {})[partition] = value

    def _delete(self, group_id: str, topic: str, partition: int) -> None:
        self._pending.forget((group_id, topic, partition))
        topics = self._committed.get(group_id)
        if topics is None or topic not in topics:
            return
        topics[topic].pop(partition, None)
        if not topics[topic]:
            del topics[topic]
        if not topics:
            del self._committed[group_id]
