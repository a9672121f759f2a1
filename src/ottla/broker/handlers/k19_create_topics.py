"""CreateTopics: topics with their partitions, replicas and settings.

Versions: 4 lets the broker choose counts with -1; 5 is flexible and answers counts and settings (KIP-525); 7 answers
the topic id. The answer comes when the partitions are there. `validate_only` checks and changes nothing.

The controller decides about all topics at once. A request for more of them than it may create partitions is refused
before that, as Kafka does.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.config.description import describe_topic
from ottla.metadata.controller.topics import MAX_PARTITIONS_PER_REQUEST
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)

API_KEY = ApiKey.CREATE_TOPICS
REQUEST = CreateTopicsRequest


async def handle(context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """One row per topic, in the order of the request."""
    if len(request.topics) > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, f"One request can create at most {MAX_PARTITIONS_PER_REQUEST} partitions"
        )
    response = await context.broker.metadata.controller.handle(context, request)
    assert isinstance(response, CreateTopicsResponse)
    if context.api_version >= 5:
        configs = {topic.name: {row.name: row.value or "" for row in topic.configs} for topic in request.topics}
        time_slice = context.time_slice()
        for result in response.topics:
            if not result.error_code:
                result.configs = _settings(context, configs[result.name])
                await time_slice.pause_if_used()
    return response


def error_response(context: RequestContext, request: CreateTopicsRequest, error: ApiError) -> CreateTopicsResponse:
    """The same error for every topic."""
    del context
    rows = [
        CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        for topic in request.topics
    ]
    return CreateTopicsResponse(topics=rows)


def _settings(context: RequestContext, configs: dict[str, str]) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.is_sensitive,
        )
        for entry in describe_topic(configs, context.broker.metadata.dynamic_configs.layers(context.broker.image))
    ]
