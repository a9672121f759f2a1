"""Offsets that a group has committed: OffsetFetch, OffsetCommit and OffsetDelete, at the group's coordinator."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ottla.client.cluster import Cluster
from ottla.client.errors import ClientError, KafkaError, error_of, raise_for
from ottla.client.fanout import by_topic
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_commit_response import OffsetCommitResponse
from ottla.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_delete_response import OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from ottla.protocol.topic_partition import TopicPartition

# From version 10 on topics go by id; by name, offsets of topics that are gone can be seen and deleted too.
_NAMES_VERSION_MAX = 9


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The next offset that a group would read; -1 if it never committed one."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """The identity under which a member commits; the default is for an administrator or a consumer without a group."""

    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


NO_MEMBERSHIP = Membership()


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """For which group a transaction commits offsets; with a membership, only while that member is in the group."""

    group_id: str
    membership: Membership = NO_MEMBERSHIP


def committed_offsets(offsets: Mapping[TopicPartition, int | CommittedOffset]) -> dict[TopicPartition, CommittedOffset]:
    """Normalise offsets to commit, given as numbers or with more; TypeError or ValueError names what is none."""
    found: dict[TopicPartition, CommittedOffset] = {}
    for partition, offset in offsets.items():
        if not isinstance(partition, tuple):
            raise TypeError(f"offsets are given by TopicPartition(topic, partition), not by {partition!r}")
        given = offset if isinstance(offset, CommittedOffset) else CommittedOffset(offset)
        if type(given.offset) is not int:
            raise TypeError(f"the offset of {partition} must be an int, not {given.offset!r}")
        if given.offset < 0:
            raise ValueError(f"the offset of {partition} is {given.offset}: it is the next one to read, from 0 on")
        found[TopicPartition(*partition)] = given
    return found


def check_group_metadata(group: object) -> None:
    """Raise TypeError for what people often pass instead."""
    if isinstance(group, str):
        raise TypeError(f"group_metadata is consumer.group_metadata(), or GroupMetadata({group!r}), not a group's name")
    if not isinstance(group, GroupMetadata):
        raise TypeError(f"group_metadata is consumer.group_metadata(), not {type(group).__name__}")


async def fetch_group_offsets(
    cluster: Cluster,
    group_id: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    require_stable: bool = False,
    waits_until_stable: bool = True,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, CommittedOffset]:
    """Fetch what the group has committed; None asks for everything.

    With `require_stable`, waits for offsets in an open transaction, or raises UNSTABLE_OFFSET_COMMIT.
    """
    grouped = None if partitions is None else by_topic(partitions)

    async def ask() -> dict[TopicPartition, CommittedOffset]:
        connection = await cluster.coordinator_connection(group_id)
        version = connection.version_of(OffsetFetchRequest, highest=_NAMES_VERSION_MAX, lowest=2)
        request = _fetch_request(group_id, grouped, version, require_stable=require_stable)
        response = await connection.request(request, OffsetFetchResponse, version=version)
        answer = response.groups[0] if version >= 8 else response
        raise_for(answer.error_code)
        found = {
            TopicPartition(topic.name, row.partition_index): _read_offset(row)
            for topic in answer.topics
            for row in topic.partitions
        }
        for offset in found.values():
            if offset.error is not None and offset.error.is_retriable:
                raise offset.error
        return found

    def may_retry(error: ClientError) -> bool:
        is_unstable = isinstance(error, KafkaError) and error.code is ErrorCode.UNSTABLE_OFFSET_COMMIT
        return error.is_retriable and (waits_until_stable or not is_unstable)

    return await cluster.retry(
        ask,
        what=f"reading the offsets of group {group_id!r}",
        timeout_ms=timeout_ms,
        coordinates=group_id,
        may_retry=may_retry,
    )


async def commit_group_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    *,
    membership: Membership = NO_MEMBERSHIP,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, KafkaError | None]:
    """Commit offsets; returns the error of each partition."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[_commit_row(number, offsets[TopicPartition(topic, number)]) for number in numbers],
        )
        for topic, numbers in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=membership.generation,
        member_id=membership.member_id,
        group_instance_id=membership.instance_id,
        topics=topics,
    )

    async def ask() -> dict[TopicPartition, KafkaError | None]:
        connection = await cluster.coordinator_connection(group_id)
        version = connection.version_of(OffsetCommitRequest, highest=_NAMES_VERSION_MAX)
        response = await connection.request(request, OffsetCommitResponse, version=version)
        errors = {
            TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }
        for error in errors.values():
            # A topic that does not exist is the partition's own error; retrying would only take time.
            if error is not None and error.is_retriable and not error.code.refreshes_metadata:
                raise error
        return errors

    if not offsets:
        return {}
    return await cluster.retry(
        ask, what=f"committing offsets of group {group_id!r}", timeout_ms=timeout_ms, coordinates=group_id
    )


async def delete_group_offsets(
    cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, KafkaError | None]:
    """Forget offsets of a group whose members do not read these topics now."""
    topics = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
        )
        for topic, numbers in by_topic(partitions).items()
    ]

    async def ask() -> dict[TopicPartition, KafkaError | None]:
        connection = await cluster.coordinator_connection(group_id)
        request = OffsetDeleteRequest(group_id=group_id, topics=topics)
        response = await connection.request(request, OffsetDeleteResponse)
        raise_for(response.error_code)
        return {
            TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
            for topic in response.topics
            for row in topic.partitions
        }

    return await cluster.retry(ask, what=f"deleting offsets of group {group_id!r}", coordinates=group_id)


def _fetch_request(
    group_id: str, grouped: dict[str, list[int]] | None, version: int, *, require_stable: bool
) -> OffsetFetchRequest:
    if version < 8:
        rows = None
        if grouped is not None:
            rows = [OffsetFetchRequestTopic(name=name, partition_indexes=found) for name, found in grouped.items()]
        return OffsetFetchRequest(group_id=group_id, topics=rows, require_stable=require_stable)
    topics = None
    if grouped is not None:
        topics = [OffsetFetchRequestTopics(name=name, partition_indexes=found) for name, found in grouped.items()]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    return OffsetFetchRequest(groups=[group], require_stable=require_stable)


def _read_offset(row: OffsetFetchResponsePartition | OffsetFetchResponsePartitions) -> CommittedOffset:
    return CommittedOffset(
        row.committed_offset, row.metadata or "", row.committed_leader_epoch, error_of(row.error_code)
    )


def _commit_row(number: int, offset: CommittedOffset) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
