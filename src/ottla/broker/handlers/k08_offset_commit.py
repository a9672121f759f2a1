"""OffsetCommit (8): a group's position in partitions moves.

Versions: 2 carries the retention time that the broker should keep the offset for; 5 drops it in favour of the broker's
configuration; 6 adds the leader epoch of the last record consumed; 7 static members; 8 is flexible; 9 may answer
GROUP_ID_NOT_FOUND (KIP-848); 10 names topics by id alone.

Each partition gets a row. A topic or partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, an unknown id
UNKNOWN_TOPIC_ID; the others are still committed. A refusal by the group is repeated for every other row. Any offset is
accepted, negative ones too. What is stored carries the topic's id, whichever way the topic was named.

A commit is one batch of the offsets topic, so that all of it survives a crash or nothing. A commit that cannot fit into
`message.max.bytes` is refused with UNKNOWN_SERVER_ERROR, as in Kafka, before anything is encoded.
"""

from collections.abc import Awaitable, Iterator
from itertools import repeat

from ottla.broker.coordinators.groups.record_batches import offsets_bytes_min
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from ottla.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

API_KEY = ApiKey.OFFSET_COMMIT
REQUEST = OffsetCommitRequest

_TOPIC_IDS_FROM = 10


def handle(
    context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    if offsets_bytes_min(request) > context.broker.config.get_int("message.max.bytes"):
        return error_response(context, request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
    resolved, errors = _resolve(context.broker.image, request, context.api_version)
    if not any(topic.partitions for topic in resolved):
        return _response(request, errors, iter(()))
    known = OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        retention_time_ms=request.retention_time_ms,
        topics=resolved,
    )
    try:
        result = context.broker.coordinators.groups.commit_offsets(known, context.api_version)
    except ApiError as error:
        return _response(request, errors, repeat(error.code))
    if isinstance(result, OffsetCommitResponse):
        return _response(request, errors, _codes(result))
    return _respond_later(request, errors, result)


def error_response(_context: RequestContext, request: OffsetCommitRequest, error: ApiError) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=error.code)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _respond_later(
    request: OffsetCommitRequest, errors: list[list[ErrorCode]], result: Awaitable[OffsetCommitResponse]
) -> OffsetCommitResponse:
    try:
        codes = _codes(await result)
    except ApiError as error:
        codes = repeat(error.code)
    return _response(request, errors, codes)


def _resolve(
    image: ClusterImage, request: OffsetCommitRequest, api_version: int
) -> tuple[list[OffsetCommitRequestTopic], list[list[ErrorCode]]]:
    """The topics and partitions that exist, with name and id; and the error of each row."""
    resolved: list[OffsetCommitRequestTopic] = []
    errors: list[list[ErrorCode]] = []
    by_id = api_version >= _TOPIC_IDS_FROM
    for topic in request.topics:
        known = image.topics.by_id(topic.topic_id) if by_id else image.topics.by_name(topic.name)
        if known is None:
            missing = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            errors.append([missing] * len(topic.partitions))
            continue
        exists = [p.partition_index in known.partitions for p in topic.partitions]
        errors.append([ErrorCode.NONE if found else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for found in exists])
        partitions = [p for p, found in zip(topic.partitions, exists, strict=True) if found]
        resolved.append(OffsetCommitRequestTopic(name=known.name, topic_id=known.id, partitions=partitions))
    return resolved, errors


def _codes(response: OffsetCommitResponse) -> Iterator[int]:
    return (partition.error_code for topic in response.topics for partition in topic.partitions)


def _response(
    request: OffsetCommitRequest, errors: list[list[ErrorCode]], committed: Iterator[int]
) -> OffsetCommitResponse:
    """A row for each requested one, in order: our own refusal, or the group's answer."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=p.partition_index,
                        error_code=next(committed) if error is ErrorCode.NONE else error,
                    )
                    for p, error in zip(topic.partitions, topic_errors, strict=True)
                ],
            )
            for topic, topic_errors in zip(request.topics, errors, strict=True)
        ]
    )
