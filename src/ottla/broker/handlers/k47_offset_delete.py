"""OffsetDelete (47): deletes a group's offsets of topics that it does not consume any more (KIP-496). One version.

A topic or partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, one that a member subscribes to
GROUP_SUBSCRIBED_TO_TOPIC; an offset that was never committed is not an error. Errors of the group as a whole
(GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP for members that are not consumers) have no rows.
"""

from collections.abc import Awaitable

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from ottla.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

API_KEY = ApiKey.OFFSET_DELETE
REQUEST = OffsetDeleteRequest


async def handle(context: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    image = context.broker.image
    existing = OffsetDeleteRequest(
        group_id=request.group_id, topics=[_existing(image, topic) for topic in request.topics]
    )
    result = context.broker.coordinators.groups.delete_offsets(existing)
    response = await result if isinstance(result, Awaitable) else result
    codes = {
        (topic.name, partition.partition_index): partition.error_code
        for topic in response.topics
        for partition in topic.partitions
    }
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=p.partition_index,
                        error_code=codes.get((topic.name, p.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def error_response(_context: RequestContext, _request: OffsetDeleteRequest, error: ApiError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)


def _existing(image: ClusterImage, topic: OffsetDeleteRequestTopic) -> OffsetDeleteRequestTopic:
    known = image.topics.by_name(topic.name)
    partitions = [] if known is None else [p for p in topic.partitions if p.partition_index in known.partitions]
    return OffsetDeleteRequestTopic(name=topic.name, partitions=partitions)
