"""ListConfigResources (74): the resources whose configs can be described.

Topics and brokers are listed because they exist, groups and client metrics subscriptions because they have dynamic
configs. A request without types asks for all of them.

Versions: 0 lists client metrics subscriptions alone, under the name ListClientMetricsResources (KIP-1000); 1 asks for
resource types (KIP-1142).
"""

from collections.abc import Iterable

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from ottla.protocol.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse

API_KEY = ApiKey.LIST_CONFIG_RESOURCES
REQUEST = ListConfigResourcesRequest


def handle(context: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """Resources of the types asked for, each once."""
    if context.api_version == 0:
        wanted: set[int] = {ResourceType.CLIENT_METRICS}
    else:
        wanted = set(request.resource_types) or set(ResourceType)
    unknown = wanted.difference(ResourceType)
    if unknown:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {min(unknown)}")
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in ResourceType
            if resource_type in wanted
            for name in _names(context.broker.image, resource_type)
        ]
    )


def error_response(
    context: RequestContext, request: ListConfigResourcesRequest, error: ApiError
) -> ListConfigResourcesResponse:
    """No resources."""
    del context, request
    return ListConfigResourcesResponse(error_code=error.code)


def _names(image: ClusterImage, resource_type: ResourceType) -> Iterable[str]:
    if resource_type is ResourceType.TOPIC:
        return (topic.name for topic in image.topics)
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return (str(broker.id) for broker in image.brokers)
    return image.configs.names(resource_type)
