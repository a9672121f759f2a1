"""ListPartitionReassignments: the partitions that are being moved. Version 0, flexible.

What is being moved is in the image, so the answer is true without knowing how moves are made; on a node that is alone
it is empty.
"""

from ottla.broker.request_context import RequestContext
from ottla.metadata.image import TopicImage
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


def handle(context: RequestContext, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """Of all partitions, or of the named ones."""
    topics = context.broker.image.topics
    if request.topics is None:
        wanted = [(topic, set(topic.partitions)) for topic in topics]
    else:
        named = ((topics.by_name(row.name), row.partition_indexes) for row in request.topics)
        wanted = [(topic, set(indexes)) for topic, indexes in named if topic is not None]
    rows = [OngoingTopicReassignment(name=topic.name, partitions=_moving(topic, indexes)) for topic, indexes in wanted]
    return ListPartitionReassignmentsResponse(topics=[row for row in rows if row.partitions])


def error_response(
    context: RequestContext, request: ListPartitionReassignmentsRequest, error: ApiError
) -> ListPartitionReassignmentsResponse:
    """Nothing."""
    del context, request
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message)


def _moving(topic: TopicImage, indexes: set[int]) -> list[OngoingPartitionReassignment]:
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
