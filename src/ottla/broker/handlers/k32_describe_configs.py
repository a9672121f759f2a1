"""DescribeConfigs (32): every config of a topic, broker, broker logger, group or client metrics subscription.

A row has the value, its source, and on request its synonyms (everything else that could have set it) and documentation.
An empty broker name asks for the dynamic defaults of all brokers, and lists only those that are set. Naming keys
narrows the answer; unknown keys are left out. Secrets are never shown. Only a broker itself knows its loggers and its
own configs, so the name of another broker is refused.

Versions: 1 brought sources and synonyms (KIP-226); 3 types and documentation (KIP-569); 4 is flexible.
"""

from collections.abc import Callable

from ottla.broker.configs.config_schema import broker_layers
from ottla.broker.requests.request_context import RequestContext
from ottla.config.description import (
    Entry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_loggers,
    describe_topic,
    only_named,
)
from ottla.config.logger_levels import logger_levels
from ottla.metadata.controller.topic_names import check_topic_name
from ottla.metadata.image import ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

API_KEY = ApiKey.DESCRIBE_CONFIGS
REQUEST = DescribeConfigsRequest


def handle(context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """One result per resource asked for, failures included."""
    results = []
    for resource in request.resources:
        try:
            entries = _entries(context, resource)
        except ApiError as error:
            results.append(_failed(resource, error))
            continue
        if resource.configuration_keys:
            entries = only_named(entries, resource.configuration_keys)
        results.append(
            DescribeConfigsResult(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[_row(entry, request) for entry in entries],
            )
        )
    return DescribeConfigsResponse(results=results)


def error_response(
    context: RequestContext, request: DescribeConfigsRequest, error: ApiError
) -> DescribeConfigsResponse:
    """The same failure for every resource."""
    del context
    return DescribeConfigsResponse(results=[_failed(resource, error) for resource in request.resources])


def _failed(resource: DescribeConfigsResource, error: ApiError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _row(entry: Entry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


def _entries(context: RequestContext, resource: DescribeConfigsResource) -> list[Entry]:
    describe = _BY_TYPE.get(resource.resource_type)
    if describe is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")
    return describe(context, resource.resource_name)


def _topic(context: RequestContext, name: str) -> list[Entry]:
    image = context.broker.image
    check_topic_name(name)
    if image.topics.by_name(name) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return describe_topic(image.configs.topic(name), broker_layers(context.broker.config, image))


def _broker(context: RequestContext, name: str) -> list[Entry]:
    image = context.broker.image
    if not name:
        return describe_cluster_default(image.configs.cluster_default())
    _check_node(context, name, "Unexpected broker id, expected {} or empty string, but received {}")
    return describe_broker(broker_layers(context.broker.config, image))


def _broker_logger(context: RequestContext, name: str) -> list[Entry]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    _check_node(context, name, "Unexpected broker id, expected {} but received {}")
    return describe_loggers(logger_levels())


def _check_node(context: RequestContext, name: str, unexpected: str) -> None:
    node_id = context.broker.config.node_id
    try:
        asked = int(name)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}") from None
    if asked != node_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, unexpected.format(node_id, name))


def _group(context: RequestContext, name: str) -> list[Entry]:
    image = context.broker.image
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    return describe_group(image.configs.of(ResourceType.GROUP, name), broker_layers(context.broker.config, image))


def _client_metrics(context: RequestContext, name: str) -> list[Entry]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
    return describe_client_metrics(context.broker.image.configs.of(ResourceType.CLIENT_METRICS, name))


_BY_TYPE: dict[int, Callable[[RequestContext, str], list[Entry]]] = {
    ResourceType.TOPIC: _topic,
    ResourceType.BROKER: _broker,
    ResourceType.BROKER_LOGGER: _broker_logger,
    ResourceType.GROUP: _group,
    ResourceType.CLIENT_METRICS: _client_metrics,
}
