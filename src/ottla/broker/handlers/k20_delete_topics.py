"""DeleteTopics: by name, and from version 6 on by id too.

Versions: 4 is flexible; 5 has error messages; 6 ids. The metadata says at once that a topic is gone; its files follow
after `file.delete.delay.ms`. `delete.topic.enable` forbids it altogether.
"""

from collections.abc import Sequence

from ottla.broker.request_context import RequestContext
from ottla.metadata.controller.topics import delete_topics
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse

API_KEY = ApiKey.DELETE_TOPICS
REQUEST = DeleteTopicsRequest


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """One row per topic, in the order of the request."""
    is_enabled = context.broker.config.get_bool("delete.topic.enable")
    if not is_enabled and context.api_version < 3:
        # The older versions have no word for it.
        raise ApiError(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled (delete.topic.enable)")
    wanted = _wanted(context, request)
    results = await context.broker.quorum.submit(
        lambda image, _now_ms: delete_topics(image, wanted, is_enabled=is_enabled)
    )
    return DeleteTopicsResponse(responses=results)


def error_response(context: RequestContext, request: DeleteTopicsRequest, error: ApiError) -> DeleteTopicsResponse:
    """The same error for every topic."""
    rows = [
        DeletableTopicResult(
            name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=error.message
        )
        for topic in _wanted(context, request)
    ]
    return DeleteTopicsResponse(responses=rows)


def _wanted(context: RequestContext, request: DeleteTopicsRequest) -> Sequence[DeleteTopicState]:
    if context.api_version >= 6:
        return request.topics
    return [DeleteTopicState(name=name) for name in request.topic_names]
