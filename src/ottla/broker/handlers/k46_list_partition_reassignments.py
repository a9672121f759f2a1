"""ListPartitionReassignments: the partitions that are being moved. Version 0, flexible.

The image holds the reassignments in progress; in a cluster of one node there are none.
"""

from collections.abc import Collection, Iterator

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import TopicImage, TopicsImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from ottla.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

API_KEY = ApiKey.LIST_PARTITION_REASSIGNMENTS
REQUEST = ListPartitionReassignmentsRequest


async def handle(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The reassignments of all partitions, or of the named ones."""
    rows = []
    async for topic, indexes in context.time_slice().over(_wanted(context.broker.image.topics, request)):
        if moving := _moving(topic, indexes):
            rows.append(OngoingTopicReassignment(name=topic.name, partitions=moving))
    return ListPartitionReassignmentsResponse(topics=rows)


def _wanted(
    topics: TopicsImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[TopicImage, Collection[int]]]:
    if request.topics is None:
        return ((topic, topic.partitions) for topic in topics)
    named = ((topics.by_name(row.name), row.partition_indexes) for row in request.topics)
    return ((topic, frozenset(indexes)) for topic, indexes in named if topic is not None)


def error_response(
    context: RequestContext, request: ListPartitionReassignmentsRequest, error: ApiError
) -> ListPartitionReassignmentsResponse:
    """Nothing."""
    del context, request
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)


def _moving(topic: TopicImage, indexes: Collection[int]) -> list[OngoingPartitionReassignment]:
    return [
        OngoingPartitionReassignment(
            partition_index=index,
            replicas=state.replicas,
            adding_replicas=state.adding_replicas,
            removing_replicas=state.removing_replicas,
        )
        for index, state in sorted(topic.partitions.items())
        if index in indexes and (state.adding_replicas or state.removing_replicas)
    ]
