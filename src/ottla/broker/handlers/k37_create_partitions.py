"""CreatePartitions: gives a topic more partitions, never fewer.

Versions: 2 is flexible; 3 may say that the controller is over its quota. `validate_only` checks and changes nothing.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.create_partitions_request import CreatePartitionsRequest
from ottla.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from ottla.protocol.schema import Message

API_KEY = ApiKey.CREATE_PARTITIONS
REQUEST = CreatePartitionsRequest


async def handle(context: RequestContext, request: CreatePartitionsRequest) -> Message:
    """One row per topic, in the order of the request."""
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    context: RequestContext, request: CreatePartitionsRequest, error: ApiError
) -> CreatePartitionsResponse:
    """The same error for every topic."""
    del context
    rows = [
        CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        for topic in request.topics
    ]
    return CreatePartitionsResponse(results=rows)
