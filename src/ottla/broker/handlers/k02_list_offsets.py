"""ListOffsets: the offset for a time, or one of the special places in a log.

Versions: 1 is the oldest; 2 isolation level; 4 leader epochs; 5 knows OFFSET_NOT_AVAILABLE; 6 flexible; 7 the largest
timestamp (-3); 8 the local log start (-4); 9 the end of what is tiered (-5); 10 a timeout for answers from remote
storage; 11 the earliest offset that still waits for its upload (-6).

A time is answered with the first record at or after it, exact to the record. That means opening a batch, so it runs in
a thread. Without tiered storage the local log start is the log start, nothing is tiered (-1), and the earliest offset
that waits for an upload does not exist (-1).

A new leader does not know how far its predecessor had committed until its own high watermark has reached the start of
its epoch. Until then it reports neither the end of its log nor that a time lies after it: an end that goes back would
look like lost records (KIP-207). A follower asks for the end of the log itself, committed or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.requests.fetching import READ_COMMITTED
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from ottla.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.topic_partition import TopicPartition
from ottla.replication.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Awaitable

API_KEY = ApiKey.LIST_OFFSETS
REQUEST = ListOffsetsRequest

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
# The version that introduced each special place.
_SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
_NOWHERE = (-1, -1, -1)
_KNOWS_NOT_AVAILABLE_FROM = 5


def handle(
    context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
    """One row per partition asked for, in the same order."""
    searches: list[tuple[Partition, int, ListOffsetsPartitionResponse]] = []
    seen: set[TopicPartition] = set()
    topics = []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            row = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
            rows.append(row)
            try:
                asked = TopicPartition(topic.name, wanted.partition_index)
                if asked in seen:
                    raise ApiError(ErrorCode.INVALID_REQUEST, f"{asked} is named twice; name each partition once")
                seen.add(asked)
                partition = _partition(context, topic.name, wanted)
                if wanted.timestamp in (LATEST, MAX_TIMESTAMP) and request.replica_id < 0:
                    _require_known_watermark(context, partition)
                place = _place(partition, request, wanted.timestamp)
                if place is None:
                    searches.append((partition, wanted.timestamp, row))
                else:
                    row.timestamp, row.offset, row.leader_epoch = place
            except ApiError as error:
                row.error_code = error.code
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=rows))
    response = ListOffsetsResponse(topics=topics)
    return _search(context, request, searches, response) if searches else response


def error_response(context: RequestContext, request: ListOffsetsRequest, error: ApiError) -> ListOffsetsResponse:
    """The same error for every partition."""
    del context
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=row.partition_index, error_code=error.code)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(context: RequestContext, topic: str, wanted: ListOffsetsPartition) -> Partition:
    if wanted.timestamp < EARLIEST_PENDING_UPLOAD or context.api_version < _SINCE_VERSION.get(wanted.timestamp, 0):
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Timestamp {wanted.timestamp} has no meaning in version {context.api_version}",
        )
    partition = context.broker.replicas.partition(topic, wanted.partition_index)
    partition.require_leader()
    partition.check_leader_epoch(wanted.current_leader_epoch)
    return partition


def _require_known_watermark(context: RequestContext, partition: Partition) -> None:
    if partition.has_reached_epoch_start:
        return
    is_known = context.api_version >= _KNOWS_NOT_AVAILABLE_FROM
    code = ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE
    message = f"The leader of {partition.topic}-{partition.index} does not know yet how far its log is committed"
    raise ApiError(code, message)


def _place(partition: Partition, request: ListOffsetsRequest, timestamp: int) -> tuple[int, int, int] | None:
    """(timestamp, offset, leader epoch) of a special place; None where the log must be searched."""
    log = partition.log
    if timestamp == LATEST and request.replica_id >= 0:
        return -1, log.log_end_offset, partition.leader_epoch
    if timestamp == LATEST:
        is_committed_only = request.isolation_level == READ_COMMITTED
        return -1, log.last_stable_offset if is_committed_only else log.high_watermark, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, log.leader_epochs.epoch_of(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOWHERE
    return None


async def _search(
    context: RequestContext,
    request: ListOffsetsRequest,
    searches: list[tuple[Partition, int, ListOffsetsPartitionResponse]],
    response: ListOffsetsResponse,
) -> ListOffsetsResponse:
    replicas = context.broker.replicas
    for partition, timestamp, row in searches:
        log = partition.log
        limit = log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark
        try:
            if timestamp == MAX_TIMESTAMP:
                found = await replicas.search(partition, log.offset_of_max_timestamp, limit)
            else:
                found = await replicas.search(partition, log.offset_for_timestamp, timestamp, limit)
                if found is None:
                    _require_known_watermark(context, partition)
        except ApiError as error:
            row.error_code = error.code
            continue
        if found is not None:
            row.timestamp, row.offset, row.leader_epoch = found
    return response
