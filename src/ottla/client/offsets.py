"""Offsets of a partition by time or by place: the ListOffsets API."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of
from ottla.client.fanout import ask_leaders, by_topic
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.list_offsets_response import ListOffsetsResponse
from ottla.protocol.topic_partition import TopicPartition

NO_OFFSET = -1


class OffsetSpec(IntEnum):
    """Places in a partition, in the numbers that stand where a timestamp would."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class IsolationLevel(IntEnum):
    """Whether records of unfinished and aborted transactions are seen."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


# A broker that did not know a spec would take it for a time, and find the first record.
_VERSION_OF_SPEC = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """An offset that was asked for; -1 if nothing in the partition matches."""

    offset: int
    timestamp_ms: int = -1
    leader_epoch: int = -1
    error: KafkaError | None = None


async def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, ListedOffset]:
    """For each partition the offset of an `OffsetSpec`, or of the first record that is not older than a time in ms."""

    async def ask(
        connection: Connection, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ListedOffset | KafkaError]:
        version = connection.version_of(ListOffsetsRequest, lowest=lowest)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            timeout_ms=int(cluster.settings.request_timeout_ms),
            topics=[
                ListOffsetsTopic(name=topic, partitions=[_row(cluster, topic, number, wanted) for number in numbers])
                for topic, numbers in by_topic(partitions).items()
            ],
        )
        response = await connection.request(request, ListOffsetsResponse, version=version)
        return {
            TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
            or ListedOffset(row.offset, row.timestamp, row.leader_epoch)
            for topic in response.topics
            for row in topic.partitions
        }

    lowest = max((_VERSION_OF_SPEC.get(OffsetSpec(at), 1) for at in wanted.values() if at < 0), default=1)
    found = await ask_leaders(cluster, wanted, ask, timeout_ms=timeout_ms)
    return {
        partition: ListedOffset(NO_OFFSET, error=answer) if isinstance(answer, KafkaError) else answer
        for partition, answer in found.items()
    }


def _row(cluster: Cluster, topic: str, number: int, wanted: Mapping[TopicPartition, int]) -> ListOffsetsPartition:
    partition = TopicPartition(topic, number)
    info = cluster.metadata.partition(partition)
    epoch = info.leader_epoch if info else -1
    return ListOffsetsPartition(partition_index=number, current_leader_epoch=epoch, timestamp=int(wanted[partition]))
