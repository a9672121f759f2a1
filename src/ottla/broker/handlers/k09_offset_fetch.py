"""OffsetFetch (9): the committed offsets of groups.

Versions: 1 reads from the offsets topic; 2 asks for everything with a null topic list and has an error for the whole
answer; 3 throttles; 5 returns the leader epoch; 6 is flexible; 7 may insist on stable offsets; 8 asks for several
groups at once; 9 carries the member of a KIP-848 group, which a classic group ignores; 10 names topics by id.

No offset, no such partition, no such group: all of them are offset -1 without an error. An unknown topic id is
UNKNOWN_TOPIC_ID. An offset that a transaction may still change is UNSTABLE_OFFSET_COMMIT where stable ones are
required, and otherwise the offset that was committed before. In version 10 a request for all offsets leaves out topics
that do not exist any more, as they have no id.
"""

from collections.abc import Awaitable, Sequence

from ottla.broker.requests.request_context import RequestContext
from ottla.broker.requests.time_slice import TimeSlice
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

API_KEY = ApiKey.OFFSET_FETCH
REQUEST = OffsetFetchRequest

_TOP_LEVEL_ERROR_FROM = 2
_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10
_NO_OFFSET = -1


def handle(
    context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
    """Answers at once where partitions are named. All offsets of a group may be many, so they are read in slices."""
    groups = request.groups if context.api_version >= _GROUPS_FROM else [_single_group(request)]
    if any(group.topics is None for group in groups):
        return _answer_in_slices(context, request, groups)
    return _response(context, request, [_group(context, group, request.require_stable) for group in groups])


async def _answer_in_slices(
    context: RequestContext, request: OffsetFetchRequest, groups: Sequence[OffsetFetchRequestGroup]
) -> OffsetFetchResponse:
    time_slice = context.time_slice()
    stable = request.require_stable
    rows = [
        await _whole_group(context, group.group_id, stable, time_slice)
        if group.topics is None
        else _group(context, group, stable)
        async for group in time_slice.over(groups)
    ]
    return _response(context, request, rows)


def _response(
    context: RequestContext, request: OffsetFetchRequest, groups: list[OffsetFetchResponseGroup]
) -> OffsetFetchResponse:
    if context.api_version >= _GROUPS_FROM:
        return OffsetFetchResponse(groups=groups)
    return _single_group_response(groups[0], request, context.api_version)


def error_response(context: RequestContext, request: OffsetFetchRequest, error: ApiError) -> OffsetFetchResponse:
    if context.api_version >= _GROUPS_FROM:
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id=g.group_id, error_code=error.code) for g in request.groups]
        )
    failed = OffsetFetchResponseGroup(group_id=request.group_id, error_code=error.code)
    return _single_group_response(failed, request, context.api_version)


def _group(context: RequestContext, asked: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
    try:
        rows = _asked_topics(context, asked.group_id, asked.topics or (), require_stable)
    except ApiError as error:
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error.code)
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=rows)


async def _whole_group(
    context: RequestContext, group_id: str, require_stable: bool, time_slice: TimeSlice
) -> OffsetFetchResponseGroup:
    """Everything that the group has committed."""
    try:
        offsets = context.broker.coordinators.groups.all_offsets(group_id, require_stable=require_stable)
    except ApiError as error:
        return OffsetFetchResponseGroup(group_id=group_id, error_code=error.code)
    by_topic: dict[str, list[OffsetFetchResponsePartitions]] = {}
    async for name, row in time_slice.over(offsets):
        by_topic.setdefault(name, []).append(row)
    topics = [OffsetFetchResponseTopics(name=name, partitions=rows) for name, rows in by_topic.items()]
    if context.api_version >= _TOPIC_IDS_FROM:
        topics = _with_ids(context.broker.image, topics)
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics)


def _asked_topics(
    context: RequestContext, group_id: str, topics: Sequence[OffsetFetchRequestTopics], require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    groups = context.broker.coordinators.groups
    if context.api_version < _TOPIC_IDS_FROM:
        return groups.fetch_offsets(group_id, topics, require_stable=require_stable)
    image = context.broker.image
    rows: list[OffsetFetchResponseTopics] = []
    for topic in topics:
        known = image.topics.by_id(topic.topic_id)
        if known is None:
            rows.append(_unknown_topic(topic))
            continue
        named = OffsetFetchRequestTopics(name=known.name, topic_id=known.id, partition_indexes=topic.partition_indexes)
        rows += groups.fetch_offsets(group_id, (named,), require_stable=require_stable)
    return rows


def _with_ids(image: ClusterImage, topics: Sequence[OffsetFetchResponseTopics]) -> list[OffsetFetchResponseTopics]:
    rows = []
    for topic in topics:
        known = image.topics.by_name(topic.name)
        if known is not None:
            topic.topic_id = known.id
            rows.append(topic)
    return rows


def _unknown_topic(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index,
                committed_offset=_NO_OFFSET,
                metadata="",
                error_code=ErrorCode.UNKNOWN_TOPIC_ID,
            )
            for index in topic.partition_indexes
        ],
    )


def _single_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _single_group_response(
    group: OffsetFetchResponseGroup, request: OffsetFetchRequest, api_version: int
) -> OffsetFetchResponse:
    if group.error_code == ErrorCode.NONE:
        return OffsetFetchResponse(topics=[_old_topic(topic) for topic in group.topics])
    if api_version >= _TOP_LEVEL_ERROR_FROM:
        return OffsetFetchResponse(error_code=group.error_code)
    # Version 1 has errors for partitions only.
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=group.error_code
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def _old_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=p.partition_index,
                committed_offset=p.committed_offset,
                committed_leader_epoch=p.committed_leader_epoch,
                metadata=p.metadata,
                error_code=p.error_code,
            )
            for p in topic.partitions
        ],
    )
