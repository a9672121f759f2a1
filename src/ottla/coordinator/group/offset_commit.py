"""OffsetCommit: who may move a group's offsets.

    the group                     the request                    decision
    ----------------------------  -----------------------------  --------------------------------------------------
    unknown                       no generation                  accepted: a simple consumer that manages itself
    unknown                       a generation                   GROUP_ID_NOT_FOUND (before v9: ILLEGAL_GENERATION)
    Empty                         no generation                  accepted
    with members                  neither member nor generation  UNKNOWN_MEMBER_ID: the group is not the caller's
    with members                  of a member                    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
                                                                 ILLEGAL_GENERATION where they apply
    CompletingRebalance           of a member                    REBALANCE_IN_PROGRESS

A commit also proves that the member is alive.
"""

from dataclasses import dataclass

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.rebalance import Rebalances
from ottla.coordinator.group.records import NO_TIMESTAMP, CommittedOffset, OffsetRecord
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.state_machine import CoordinatorResult
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_GROUP_ID_NOT_FOUND_FROM = 9
_BROKER_RETENTION = -1


@dataclass(frozen=True, slots=True)
class _CommitTime:
    now_ms: int
    expire_timestamp_ms: int


class OffsetCommits:
    """Decides OffsetCommit requests whose topics are known by name and id."""

    def __init__(self, config: GroupConfig, groups: dict[str, ClassicGroup], rebalances: Rebalances) -> None:
        self._config = config
        self._groups = groups
        self._rebalances = rebalances

    def handle(
        self, request: OffsetCommitRequest, api_version: int, now_ms: int
    ) -> CoordinatorResult[OffsetRecord, OffsetCommitResponse]:
        """Records for the accepted partitions, and a row for each; ApiError refuses the request as a whole."""
        self._validate(request, api_version, now_ms)
        expire_timestamp_ms = (
            NO_TIMESTAMP if request.retention_time_ms == _BROKER_RETENTION else now_ms + request.retention_time_ms
        )
        time = _CommitTime(now_ms, expire_timestamp_ms)
        records: list[OffsetRecord] = []
        topics = [
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[self._commit(request.group_id, topic, p, time, records) for p in topic.partitions],
            )
            for topic in request.topics
        ]
        return CoordinatorResult(records, OffsetCommitResponse(topics=topics))

    def _commit(
        self,
        group_id: str,
        topic: OffsetCommitRequestTopic,
        partition: OffsetCommitRequestPartition,
        time: _CommitTime,
        records: list[OffsetRecord],
    ) -> OffsetCommitResponsePartition:
        metadata = partition.committed_metadata or ""
        index = partition.partition_index
        if len(metadata) > self._config.offset_metadata_max_bytes:
            return OffsetCommitResponsePartition(partition_index=index, error_code=ErrorCode.OFFSET_METADATA_TOO_LARGE)
        value = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch,
            metadata,
            time.now_ms,
            time.expire_timestamp_ms,
            topic.topic_id,
        )
        records.append(OffsetRecord(group_id, topic.name, index, value))
        return OffsetCommitResponsePartition(partition_index=index)

    def _validate(self, request: OffsetCommitRequest, api_version: int, now_ms: int) -> None:
        group = self._groups.get(request.group_id)
        generation_id = request.generation_id_or_member_epoch
        if group is None:
            if generation_id < 0:
                return
            if api_version >= _GROUP_ID_NOT_FOUND_FROM:
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {request.group_id}")
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"there is no group {request.group_id}")
        if generation_id < 0 and group.state is GroupState.EMPTY:
            return
        if generation_id < 0 and not request.member_id and request.group_instance_id is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"group {request.group_id} has members, and only they may commit. Stop them to change its offsets",
            )
        member = group.validate_member(request.member_id, request.group_instance_id)
        if generation_id != group.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        if group.state is GroupState.COMPLETING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._rebalances.extend_session(group, member, now_ms)
