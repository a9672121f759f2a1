"""Offsets that were committed inside transactions which have not ended.

A producer's pending offsets take effect together when its commit marker is in the log, or vanish with its abort marker.
Of two offsets for one partition the one later in the log wins, in whatever order they take effect. So a pending offset
is superseded by a plain commit, or by another transaction's offset, that was written after it and is in effect. Its
partition stays unstable until the transaction ends all the same, as in Kafka. A tombstone ends both.

All of it is in the log (batches with a producer id, markers), so replay rebuilds it.
"""

from collections.abc import Iterator

from ottla.coordinator.group.records import CommittedOffset, OffsetRecord
from ottla.protocol.topic_partition import TopicPartition

OffsetKey = tuple[str, str, int]


class PendingOffsets:
    """Pending offsets by producer id. Its methods are called in the order of the log."""

    __slots__ = ("_by_producer", "_producers", "_turn")

    def __init__(self) -> None:
        # What a producer's commit marker will do. Turns order the offsets; one that is superseded is None.
        self._by_producer: dict[int, dict[OffsetKey, tuple[int, CommittedOffset | None]]] = {}
        # Group -> partition -> the producers that have something pending there.
        self._producers: dict[str, dict[TopicPartition, set[int]]] = {}
        self._turn = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def partitions(self, group_id: str) -> Iterator[TopicPartition]:
        """Every partition in which the group has something pending."""
        return iter(self._producers.get(group_id, ()))

    def group_ids(self) -> Iterator[str]:
        """Every group with something pending."""
        return iter(self._producers)

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a transaction may still change the offset."""
        return (topic, partition) in self._producers.get(group_id, ())

    def values(self, key: OffsetKey) -> Iterator[CommittedOffset]:
        """Every offset that the end of a transaction may put into effect."""
        for producer_id in self._producers_of(key):
            _, offset = self._by_producer[producer_id][key]
            if offset is not None:
                yield offset

    def add(self, producer_id: int, key: OffsetKey, offset: CommittedOffset) -> None:
        """A transaction that has not ended commits an offset."""
        self._turn += 1
        self._by_producer.setdefault(producer_id, {})[key] = (self._turn, offset)
        group_id, topic, partition = key
        self._producers.setdefault(group_id, {}).setdefault(TopicPartition(topic, partition), set()).add(producer_id)

    def superseded(self, key: OffsetKey) -> None:
        """An offset took effect that is later in the log than everything pending for its partition."""
        self._supersede(key, self._turn)

    def forget(self, key: OffsetKey) -> None:
        """The offset was deleted, and with it everything pending in its place."""
        for producer_id in self._producers_of(key):
            del self._by_producer[producer_id][key]
            if not self._by_producer[producer_id]:
                del self._by_producer[producer_id]
            self._release(key, producer_id)

    def end(self, producer_id: int, *, is_commit: bool) -> list[OffsetRecord]:
        """The producer's marker is in the log; returns the offsets that take effect with it."""
        ended = self._by_producer.pop(producer_id, {})
        records: list[OffsetRecord] = []
        for key, (turn, offset) in ended.items():
            self._release(key, producer_id)
            if is_commit and offset is not None:
                self._supersede(key, turn)
                records.append(OffsetRecord(*key, offset))
        return records

    def _supersede(self, key: OffsetKey, up_to_turn: int) -> None:
        for producer_id in self._producers_of(key):
            turn, _ = self._by_producer[producer_id][key]
            if turn <= up_to_turn:
                self._by_producer[producer_id][key] = (turn, None)

    def _producers_of(self, key: OffsetKey) -> tuple[int, ...]:
        group_id, topic, partition = key
        return tuple(self._producers.get(group_id, {}).get(TopicPartition(topic, partition), ()))

    def _release(self, key: OffsetKey, producer_id: int) -> None:
        group_id, topic, partition = key
        partitions = self._producers[group_id]
        producers = partitions[TopicPartition(topic, partition)]
        producers.remove(producer_id)
        if not producers:
            del partitions[TopicPartition(topic, partition)]
        if not partitions:
            del self._producers[group_id]
