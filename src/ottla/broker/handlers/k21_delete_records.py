"""DeleteRecords: moves the start of some logs forward; readers do not see the records before it any more.

Versions: 1 is the same as 0, 2 is flexible. Offset -1 means the high watermark. Files go later, with retention.

The answer comes when every replica on a live broker has moved the start of its log as well: followers hear of it with
their next fetch. The low watermark that it names is the lowest of these starts. Where appends wait in a queue for their
disk, deletions do too. All of this for at most `timeout_ms`; then REQUEST_TIMED_OUT.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from ottla.broker.requests.purgatory import wait_until_deleted
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.controller.topic_names import is_internal
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest
from ottla.protocol.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ottla.replication.append_queue import Appending
from ottla.replication.partition import Partition

logger = logging.getLogger(__name__)

API_KEY = ApiKey.DELETE_RECORDS
REQUEST = DeleteRecordsRequest

HIGH_WATERMARK = -1


class _Deletion(NamedTuple):
    """A deletion that waits for its disk, or for followers."""

    partition: Partition
    leader_epoch: int
    target: int
    # None if the leader has moved its own log start already.
    deleting: Appending[int] | None
    row: DeleteRecordsPartitionResult
    log_it: Callable[[], None]


def handle(
    context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    """One row per partition."""
    waiting: list[_Deletion] = []
    response = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_row(context, topic.name, wanted, waiting) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )
    return _finish(waiting, context.deadline(request.timeout_ms), response) if waiting else response


def error_response(context: RequestContext, request: DeleteRecordsRequest, error: ApiError) -> DeleteRecordsResponse:
    """The same error for every partition."""
    del context
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name, partitions=[_refused(row.partition_index, error) for row in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _refused(index: int, error: ApiError) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error.code)


async def _finish(waiting: list[_Deletion], deadline: float, response: DeleteRecordsResponse) -> DeleteRecordsResponse:
    for one in waiting:
        try:
            if one.deleting is not None:
                await one.deleting.result(deadline)
                one.log_it()
            if not await wait_until_deleted(one.partition, one.leader_epoch, one.target, deadline):
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "Not every replica has deleted the records in time")
        except ApiError as error:
            one.row.low_watermark = -1
            one.row.error_code = error.code
        else:
            one.row.low_watermark = one.partition.low_watermark
    return response


def _row(
    context: RequestContext,
    topic: str,
    wanted: DeleteRecordsPartition,
    waiting: list[_Deletion],
) -> DeleteRecordsPartitionResult:
    row = DeleteRecordsPartitionResult(partition_index=wanted.partition_index)
    try:
        partition, target = _check(context, topic, wanted)
        log_it = partial(_log_deletion, partition, partition.log.log_start_offset, target, context.client_host)
        outcome = partition.delete_records(target)
    except ApiError as error:
        return _refused(wanted.partition_index, error)
    deleting = None if isinstance(outcome, int) else outcome
    if deleting is None:
        log_it()
    if deleting is not None or partition.low_watermark < target:
        waiting.append(_Deletion(partition, partition.leader_epoch, target, deleting, row, log_it))
    else:
        row.low_watermark = partition.low_watermark
    return row


def _log_deletion(partition: Partition, start_before: int, target: int, client_host: str) -> None:
    if target > start_before:
        place = f"{partition.topic}-{partition.index}"
        logger.info("%s deleted the records of %s before offset %d", client_host, place, target)


def _check(context: RequestContext, topic: str, wanted: DeleteRecordsPartition) -> tuple[Partition, int]:
    """The partition, and its new log start offset."""
    if is_internal(topic):
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Records of the internal topic {topic} cannot be deleted")
    partition = context.broker.replicas.partition(topic, wanted.partition_index)
    partition.require_leader()
    log = partition.log
    if not log.config.deletes_old_segments:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted: cleanup.policy must contain delete")
    target = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if target < 0 or target > log.high_watermark:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Offset {target} is not between 0 and the high watermark {log.high_watermark}",
        )
    return partition, target
