"""AlterConfigs (33): replaces all dynamic configs of a resource; those that are not named are removed.

It is kept for old clients. Two clients that use it at once undo each other's changes; IncrementalAlterConfigs (44) does
not have this problem. Loggers
are not served here, as in Kafka. Each resource succeeds or fails alone.

Versions: 1 is the same as 0; 2 is flexible.
"""

from collections.abc import Iterator

from ottla.broker.configs.altered_resources import Refusals
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from ottla.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

API_KEY = ApiKey.ALTER_CONFIGS
REQUEST = AlterConfigsRequest


async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """One row per resource, in the order asked, once the changes are in force here."""
    refusals = Refusals(request.resources, context.broker.config.node_id)
    rows: list[AlterConfigsResourceResponse | None] = []
    forwarded: list[AlterConfigsResource] = []
    for resource in request.resources:
        try:
            refusals.check(resource, resource.configs)
        except ApiError as error:
            rows.append(_refused(resource, error))
        else:
            rows.append(None)
            forwarded.append(resource)
    decided: Iterator[AlterConfigsResourceResponse] = iter(())
    if forwarded:
        wanted = AlterConfigsRequest(resources=forwarded, validate_only=request.validate_only)
        response = await context.broker.metadata.controller.handle(context, wanted)
        assert isinstance(response, AlterConfigsResponse)
        decided = iter(response.responses)
    return AlterConfigsResponse(responses=[row or next(decided) for row in rows])


def error_response(context: RequestContext, request: AlterConfigsRequest, error: ApiError) -> AlterConfigsResponse:
    """The same failure for every resource."""
    del context
    return AlterConfigsResponse(responses=[_refused(resource, error) for resource in request.resources])


def _refused(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
