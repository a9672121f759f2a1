"""DeleteTopics: by name, and from version 6 on by id too.

Versions: 4 is flexible; 5 has error messages; 6 ids. The topic is gone from the metadata at once; its files follow
after `file.delete.delay.ms`. `delete.topic.enable=false` forbids deletion altogether.
"""

from ottla.broker.controller.deciders import topics_to_delete
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest
from ottla.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.DELETE_TOPICS
REQUEST = DeleteTopicsRequest


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> Message:
    """One row per topic, in the order of the request."""
    return await context.broker.metadata.controller.handle(context, request)


def error_response(context: RequestContext, request: DeleteTopicsRequest, error: ApiError) -> DeleteTopicsResponse:
    """The same error for every topic."""
    rows = [
        DeletableTopicResult(
            name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=error.message
        )
        for topic in topics_to_delete(request, context.api_version)
    ]
    return DeleteTopicsResponse(responses=rows)
