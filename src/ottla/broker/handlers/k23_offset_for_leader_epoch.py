"""OffsetForLeaderEpoch: where an epoch ended, so that a client or follower can find out which records were cut off.

Versions: 2 is the oldest; 3 names a replica; 4 is flexible. The answer is the largest epoch not above the one asked for
and its end offset; (-1, -1) if there is none (KIP-279, KIP-320).
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from ottla.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

API_KEY = ApiKey.OFFSET_FOR_LEADER_EPOCH
REQUEST = OffsetForLeaderEpochRequest


def handle(context: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """One row per partition asked for."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_row(context, topic.topic, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def error_response(
    context: RequestContext, request: OffsetForLeaderEpochRequest, error: ApiError
) -> OffsetForLeaderEpochResponse:
    """The same error for every partition."""
    del context
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(partition=row.partition, error_code=error.code) for row in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _row(context: RequestContext, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = context.broker.replicas.partition(topic, wanted.partition)
        partition.require_leader()
        partition.check_leader_epoch(wanted.current_leader_epoch)
        end = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    except ApiError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error.code)
    if end is None:
        return EpochEndOffset(partition=wanted.partition)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=end.epoch, end_offset=end.end_offset)
