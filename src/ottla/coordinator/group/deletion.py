"""How offsets and groups are deleted: by request, by age, or with their topic. Every deletion is a tombstone.

When an offset is too old depends on its group:

    the group                          an offset's age counts from
    ---------------------------------  ----------------------------------------------------------------------------
    simple (no protocol type)          its commit
    Empty                              the moment the group became empty (its commit, if that moment is not known)
    Stable, of the consumer protocol   its commit, and only for topics that no member subscribes to
    any other                          never: nothing expires

An offset with an expiry time of its own (OffsetCommit before v5) obeys that instead. A group that is Empty and has no
offsets left is deleted with them.

An offset that is pending in a transaction does not expire, and neither does its group. A request, or the deletion of
the topic, does delete it: the tombstone covers the pending offset too, so that no marker brings it back.

Expiry and the deletion of a topic may concern a million offsets, so both come in portions. Each portion is decided when
it is asked for, from the offsets as they are then. It has to be appended before the next one is asked for; if the log
refuses it, its offsets and their group stay. Requests may come in between: an offset that was committed again
meanwhile, or that a transaction is about to replace, counts as new and stays.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.offsets import OffsetStore
from ottla.coordinator.group.records import (
    NO_TIMESTAMP,
    CommittedOffset,
    GroupCoordinatorRecord,
    GroupRecord,
    OffsetRecord,
)
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.state_machine import CoordinatorResult
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_groups_response import DeletableGroupResult
from ottla.protocol.messages.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from ottla.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ottla.protocol.topic_partition import TopicPartition

PORTION_RECORDS = 500

# Group, topic, partition, and every offset that was committed or pending there.
_Found = tuple[str, str, int, Sequence[CommittedOffset]]


class Deletions:
    """Decides OffsetDelete, DeleteGroups, expiry, and the deletion of topics."""

    def __init__(self, config: GroupConfig, groups: dict[str, ClassicGroup], offsets: OffsetStore) -> None:
        self._config = config
        self._groups = groups
        self._offsets = offsets

    def delete_offsets(
        self, request: OffsetDeleteRequest
    ) -> CoordinatorResult[GroupCoordinatorRecord, OffsetDeleteResponse]:
        """Delete offsets of topics that no member consumes; ApiError refuses the request as a whole."""
        group = self._existing_group(request.group_id)
        if group.state is not GroupState.EMPTY and not group.uses_consumer_protocol:
            raise ApiError(
                ErrorCode.NON_EMPTY_GROUP,
                f"group {group.group_id} has members that are not consumers: stop them before you delete its offsets",
            )
        known = self._offset_partitions(group.group_id)
        records: list[GroupCoordinatorRecord] = []
        topics = [self._delete_topic_offsets(group, topic, known, records) for topic in request.topics]
        return CoordinatorResult(records, OffsetDeleteResponse(topics=topics))

    def _delete_topic_offsets(
        self,
        group: ClassicGroup,
        topic: OffsetDeleteRequestTopic,
        known: Collection[TopicPartition],
        records: list[GroupCoordinatorRecord],
    ) -> OffsetDeleteResponseTopic:
        error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(topic.name) else ErrorCode.NONE
        rows = []
        for partition in topic.partitions:
            index = partition.partition_index
            if error is ErrorCode.NONE and (topic.name, index) in known:
                records.append(OffsetRecord(group.group_id, topic.name, index, None))
            rows.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
        return OffsetDeleteResponseTopic(name=topic.name, partitions=rows)

    def delete_groups(
        self, group_ids: Iterable[str]
    ) -> CoordinatorResult[GroupCoordinatorRecord, list[DeletableGroupResult]]:
        """Delete groups that have no members, with all their offsets; a row for each."""
        rows: list[DeletableGroupResult] = []
        records: list[GroupCoordinatorRecord] = []
        deleted: set[str] = set()
        for group_id in group_ids:
            group = self._groups.get(group_id)
            if group is None:
                error = ErrorCode.GROUP_ID_NOT_FOUND
            elif group.state is not GroupState.EMPTY:
                error = ErrorCode.NON_EMPTY_GROUP
            else:
                error = ErrorCode.NONE
                if group_id not in deleted:
                    deleted.add(group_id)
                    records.extend(self._group_tombstones(group_id))
            rows.append(DeletableGroupResult(group_id=group_id, error_code=error))
        return CoordinatorResult(records, rows)

    def expire(self, now_ms: int) -> Iterator[list[GroupCoordinatorRecord]]:
        """Tombstones for every offset that is too old, and for every group that has none left."""
        for group_id in tuple(self._groups):
            found = list(self._offsets.latest(group_id))
            for start in _starts(found):
                group = self._groups.get(group_id)
                if group is None:
                    break
                yield [
                    OffsetRecord(group_id, topic, partition, None)
                    for (topic, partition), offset in found[start : start + PORTION_RECORDS]
                    if self._offsets.latest_of(group_id, topic, partition) is offset
                    and not self._offsets.is_pending(group_id, topic, partition)
                    and self._is_expired(group, topic, offset, now_ms)
                ]
            group = self._groups.get(group_id)
            if group is None or group.state is not GroupState.EMPTY or self._offsets.pending(group_id):
                continue
            if next(self._offsets.latest(group_id), None) is None:
                yield [GroupRecord(group_id, None)]

    def delete_topics(self, topics: Collection[str]) -> Iterator[list[GroupCoordinatorRecord]]:
        """Tombstones for the offsets that exist now of topics that do not exist any more."""
        found: list[_Found] = []
        for group_id in sorted(self._offsets.group_ids()):
            pending = {key for key in self._offsets.pending(group_id) if key[0] in topics}
            found.extend(
                (group_id, *key, (offset,))
                for key, offset in self._offsets.latest(group_id)
                if key[0] in topics and key not in pending
            )
            found.extend((group_id, *key, self._offsets.possible(group_id, *key)) for key in sorted(pending))
        return (self._unchanged_tombstones(found[start : start + PORTION_RECORDS]) for start in _starts(found))

    def _unchanged_tombstones(self, found: Iterable[_Found]) -> list[GroupCoordinatorRecord]:
        """Tombstones for the offsets that nobody has committed again, or made pending, since they were found."""
        records: list[GroupCoordinatorRecord] = []
        for group_id, topic, partition, offsets in found:
            possible = self._offsets.possible(group_id, topic, partition)
            is_there = possible or self._offsets.is_pending(group_id, topic, partition)
            if is_there and all(any(one is known for known in offsets) for one in possible):
                records.append(OffsetRecord(group_id, topic, partition, None))
        return records

    def _group_tombstones(self, group_id: str) -> Iterator[GroupCoordinatorRecord]:
        for topic, partition in self._offset_partitions(group_id):
            yield OffsetRecord(group_id, topic, partition, None)
        yield GroupRecord(group_id, None)

    def _offset_partitions(self, group_id: str) -> Collection[TopicPartition]:
        """The partitions in which the group has an offset, or may get one from a transaction, in a repeatable order."""
        found = dict.fromkeys(key for key, _ in self._offsets.latest(group_id))
        found.update(dict.fromkeys(sorted(self._offsets.pending(group_id))))
        return found.keys()

    def _existing_group(self, group_id: str) -> ClassicGroup:
        group = self._groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group_id}")
        return group

    def _is_expired(self, group: ClassicGroup, topic: str, offset: CommittedOffset, now_ms: int) -> bool:
        if group.protocol_type is None:
            base_ms = offset.commit_timestamp_ms
        elif group.state is GroupState.EMPTY:
            is_known = group.state_timestamp_ms != NO_TIMESTAMP
            base_ms = group.state_timestamp_ms if is_known else offset.commit_timestamp_ms
        elif group.state is GroupState.STABLE and group.subscribed_topics is not None:
            base_ms = offset.commit_timestamp_ms
        else:
            return False
        if group.is_subscribed_to(topic):
            return False
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= offset.expire_timestamp_ms
        return now_ms - base_ms >= self._config.offsets_retention_ms


def _starts(found: Sequence[object]) -> range:
    """Where each portion begins."""
    return range(0, len(found), PORTION_RECORDS)
