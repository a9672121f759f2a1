"""OffsetFetch: what a group has committed.

Only committed offsets are returned, so a client never resumes from a position that a failover could take back. An
unknown group or partition has offset -1, without an error. An offset that was committed to an earlier topic of the
same name is not returned when the topic is asked for by id.

A client that requires stable offsets (KIP-447) gets UNSTABLE_OFFSET_COMMIT for a partition whose offset may still
change, and asks again. A request for all offsets lists the partitions that have one, not those with pending ones only.
"""

from collections.abc import Iterator, Sequence

from ottla.coordinator.group.offsets import OffsetStore
from ottla.coordinator.group.records import CommittedOffset
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from ottla.protocol.messages.offset_fetch_response import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from ottla.protocol.uuids import ZERO_UUID

_NO_OFFSET = -1
_NO_EPOCH = -1


def fetch_offsets(
    offsets: OffsetStore, group_id: str, topics: Sequence[OffsetFetchRequestTopics], *, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    """A row for each partition asked for."""
    committed = offsets.committed(group_id)
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                _unstable_row(partition)
                if require_stable and offsets.is_unstable(group_id, topic.name, partition)
                else _row(partition, _of_topic(topic.topic_id, committed.get(topic.name, {}).get(partition)))
                for partition in topic.partition_indexes
            ],
        )
        for topic in topics
    ]


def all_offsets(
    offsets: OffsetStore, group_id: str, *, require_stable: bool
) -> Iterator[tuple[str, OffsetFetchResponsePartitions]]:
    """The topic and the row of each partition that has an offset.

    There may be very many. A caller that takes them slowly gets each row as it is when its topic has its turn, and none
    of a topic that was added later.
    """
    for name, partitions in tuple(offsets.committed(group_id).items()):
        for partition, offset in tuple(partitions.items()):
            if require_stable and offsets.is_unstable(group_id, name, partition):
                yield name, _unstable_row(partition)
            else:
                yield name, _row(partition, offset)


def _of_topic(topic_id: bytes, offset: CommittedOffset | None) -> CommittedOffset | None:
    if offset is None or ZERO_UUID in (topic_id, offset.topic_id) or offset.topic_id == topic_id:
        return offset
    return None


def _row(partition: int, offset: CommittedOffset | None) -> OffsetFetchResponsePartitions:
    if offset is None:
        return OffsetFetchResponsePartitions(
            partition_index=partition, committed_offset=_NO_OFFSET, committed_leader_epoch=_NO_EPOCH, metadata=""
        )
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )


def _unstable_row(partition: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=_NO_OFFSET,
        committed_leader_epoch=_NO_EPOCH,
        metadata="",
        error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
    )
