"""ElectLeaders: the preferred leaders of partitions, or any leader for those that have none (KIP-460).

Versions: 1 adds the type of election and an error of the whole request; 2 is flexible.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest
from ottla.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ottla.protocol.schema import Message

API_KEY = ApiKey.ELECT_LEADERS
REQUEST = ElectLeadersRequest


async def handle(context: RequestContext, request: ElectLeadersRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(context: RequestContext, request: ElectLeadersRequest, error: ApiError) -> ElectLeadersResponse:
    """The same error for the whole and for every partition: the oldest version knows only the rows."""
    del context
    rows = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(partition_id=partition, error_code=error.code, error_message=error.message)
                for partition in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=error.code, replica_election_results=rows)
