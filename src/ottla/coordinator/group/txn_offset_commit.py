"""TxnOffsetCommit: who may move a group's offsets inside a transaction (KIP-98, KIP-447).

The transaction itself was verified before. The rules are those of a plain commit, with three differences. A request
without member and generation is accepted in any state of the group, as clients before version 3 know neither. A group
that does not exist answers ILLEGAL_GENERATION. And a rebalance does not refuse a member of the current generation,
because its transaction began in that generation. So a member that was replaced while it was frozen is fenced by its
generation, and clients need no producer per partition.

A transaction does not prove that the member is alive: its session is not extended.
"""

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import CommittedOffset, OffsetRecord
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.state_machine import CoordinatorResult
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from ottla.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


class TxnOffsetCommits:
    """Decides TxnOffsetCommit requests whose topics exist."""

    def __init__(self, config: GroupConfig, groups: dict[str, ClassicGroup]) -> None:
        self._config = config
        self._groups = groups

    def handle(
        self, request: TxnOffsetCommitRequest, now_ms: int
    ) -> CoordinatorResult[OffsetRecord, TxnOffsetCommitResponse]:
        """Records for the accepted partitions, and a row for each; ApiError refuses the request as a whole."""
        self._validate(request)
        records: list[OffsetRecord] = []
        topics = []
        for topic in request.topics:
            rows = []
            for partition in topic.partitions:
                metadata = partition.committed_metadata or ""
                error = ErrorCode.NONE
                if len(metadata) > self._config.offset_metadata_max_bytes:
                    error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    offset = CommittedOffset(
                        partition.committed_offset, partition.committed_leader_epoch, metadata, now_ms
                    )
                    records.append(OffsetRecord(request.group_id, topic.name, partition.partition_index, offset))
                rows.append(
                    TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
                )
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=rows))
        return CoordinatorResult(records, TxnOffsetCommitResponse(topics=topics))

    def _validate(self, request: TxnOffsetCommitRequest) -> None:
        group = self._groups.get(request.group_id)
        generation_id = request.generation_id
        if group is None:
            if generation_id >= 0:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"there is no group {request.group_id}")
            return
        if generation_id < 0:
            is_anonymous = not request.member_id and request.group_instance_id is None
            if is_anonymous or group.state is GroupState.EMPTY:
                return
        group.validate_member(request.member_id, request.group_instance_id)
        if generation_id != group.generation_id:
            raise ApiError(
                ErrorCode.ILLEGAL_GENERATION,
                f"group {request.group_id} is in generation {group.generation_id}; the commit is of {generation_id}",
            )
