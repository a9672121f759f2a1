"""DescribeTopicPartitions: topics in pages of partitions, with eligible leader replicas (KIP-966). Version 0, flexible.

Topics come in order of their names. An empty list of topics means all of them. A page ends after
`response_partition_limit` partitions, and the cursor says where the next begins.
"""

from ottla.broker.requests.partition_view import view
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.controller.topic_names import is_internal
from ottla.metadata.image import PartitionState, TopicImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from ottla.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ottla.security.operations import TOPIC_OPERATIONS, as_bits

API_KEY = ApiKey.DESCRIBE_TOPIC_PARTITIONS
REQUEST = DescribeTopicPartitionsRequest


async def handle(context: RequestContext, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """One page."""
    time_slice = context.time_slice()
    topics = context.broker.image.topics
    names = sorted({topic.name for topic in request.topics} or set(topics.names()))
    first_index = 0
    if request.cursor is not None:
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first_index = max(request.cursor.partition_index, 0)
    configured = context.broker.config.get_int("max.request.partition.size.limit")
    left = min(max(request.response_partition_limit, 1), configured)
    rows: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if left == 0:
            return DescribeTopicPartitionsResponse(topics=rows, next_cursor=Cursor(topic_name=name, partition_index=0))
        await time_slice.pause_if_used()
        topic = topics.by_name(name)
        if topic is None:
            rows.append(_unknown_row(context, name))
            continue
        indexes = [index for index in sorted(topic.partitions) if index >= first_index]
        rows.append(_topic_row(context, topic, indexes[:left]))
        if len(indexes) > left:
            cursor = Cursor(topic_name=name, partition_index=indexes[left])
            return DescribeTopicPartitionsResponse(topics=rows, next_cursor=cursor)
        left -= len(indexes)
        first_index = 0
    return DescribeTopicPartitionsResponse(topics=rows)


def error_response(
    context: RequestContext, request: DescribeTopicPartitionsRequest, error: ApiError
) -> DescribeTopicPartitionsResponse:
    """The same error for each topic."""
    del context
    rows = [DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=rows)


def _unknown_row(context: RequestContext, name: str) -> DescribeTopicPartitionsResponseTopic:
    code = context.broker.metadata.topic_creation.missing_topic_error(name)
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name, is_internal=is_internal(name))


def _topic_row(context: RequestContext, topic: TopicImage, indexes: list[int]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[_partition_row(context, index, topic.partitions[index]) for index in indexes],
        topic_authorized_operations=as_bits(TOPIC_OPERATIONS),
    )


def _partition_row(
    context: RequestContext, index: int, state: PartitionState
) -> DescribeTopicPartitionsResponsePartition:
    seen = view(context, state)
    return DescribeTopicPartitionsResponsePartition(
        error_code=seen.error_code,
        partition_index=index,
        leader_id=seen.leader_id,
        leader_epoch=state.leader_epoch,
        replica_nodes=state.replicas,
        isr_nodes=state.isr,
        # Java's client does not survive null here.
        eligible_leader_replicas=state.eligible_leader_replicas,
        last_known_elr=state.last_known_elr,
        offline_replicas=seen.offline_replicas,
    )
