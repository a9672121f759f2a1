"""The offsets that groups have committed, in two views.

*Committed* is what a client may be told: records that the partition's high watermark has passed. *Latest* adds what has
been appended and not yet committed: deletions must see it, or a commit that is still in flight would outlive them.
"""

from collections.abc import Iterator

from ottla.coordinator.group.records import CommittedOffset, OffsetRecord

TopicPartition = tuple[str, int]


class OffsetStore:
    """Offsets by group, topic and partition."""

    __slots__ = ("_committed", "_in_flight")

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, dict[int, CommittedOffset]]] = {}
        # Key -> how many records for it are in flight, and what the last of them says.
        self._in_flight: dict[tuple[str, str, int], tuple[int, CommittedOffset | None]] = {}

    def committed(self, group_id: str) -> dict[str, dict[int, CommittedOffset]]:
        """The group's committed offsets by topic and partition; to be read, not changed."""
        return self._committed.get(group_id, {})

    def latest(self, group_id: str) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        """Every offset that the group will have once all that is in flight is committed."""
        for topic, partitions in self.committed(group_id).items():
            for partition, offset in partitions.items():
                if (group_id, topic, partition) not in self._in_flight:
                    yield (topic, partition), offset
        for (group, topic, partition), (_, value) in self._in_flight.items():
            if group == group_id and value is not None:
                yield (topic, partition), value

    def latest_of(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """One of them."""
        in_flight = self._in_flight.get((group_id, topic, partition))
        if in_flight is not None:
            return in_flight[1]
        return self.committed(group_id).get(topic, {}).get(partition)

    def group_ids(self) -> set[str]:
        """Every group with an offset, in either view."""
        return {*self._committed, *(group_id for group_id, _, _ in self._in_flight)}

    def appended(self, record: OffsetRecord) -> None:
        """The record is in the log, but not committed."""
        key = (record.group_id, record.topic, record.partition)
        count, _ = self._in_flight.get(key, (0, None))
        self._in_flight[key] = (count + 1, record.value)

    def commit(self, record: OffsetRecord) -> None:
        """The record, appended before, is committed."""
        key = (record.group_id, record.topic, record.partition)
        count, latest = self._in_flight[key]
        if count == 1:
            del self._in_flight[key]
        else:
            self._in_flight[key] = (count - 1, latest)
        self.replay(record)

    def replay(self, record: OffsetRecord) -> None:
        """Apply a record that is known to be committed."""
        group_id, topic, partition, value = record
        if value is not None:
            self._committed.setdefault(group_id, {}).setdefault(topic, {})[partition] = value
            return
        topics = self._committed.get(group_id)
        if topics is None or topic not in topics:
            return
        topics[topic].pop(partition, None)
        if not topics[topic]:
            del topics[topic]
        if not topics:
            del self._committed[group_id]
