"""AlterConfigs (33): replace all dynamic configs of a resource by the ones given; what is not named goes.

Kept for old clients: two of them at once undo each other's changes, which IncrementalAlterConfigs (44) cannot. Loggers
are not served here, as in Kafka. Each resource succeeds or fails alone.

Versions: 1 is the same as 0; 2 is flexible.
"""

from ottla.broker.altered_resources import Refusals, refused
from ottla.broker.config_schema import BrokerConfigSchema
from ottla.broker.request_context import RequestContext
from ottla.metadata.controller.configs import ConfigResult, alter_configs
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from ottla.protocol.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse

API_KEY = ApiKey.ALTER_CONFIGS
REQUEST = AlterConfigsRequest


async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """One row per resource, in the order asked, once the changes are in force here."""
    services = context.broker
    refusals = Refusals(request.resources, services.config.node_id)
    rows: list[ConfigResult | None] = []
    forwarded: list[AlterConfigsResource] = []
    for resource in request.resources:
        try:
            refusals.check(resource, resource.configs)
        except ApiError as error:
            rows.append(refused(resource, error))
        else:
            rows.append(None)
            forwarded.append(resource)
    results: list[ConfigResult] = []
    if forwarded:
        schema = BrokerConfigSchema(services.config, lambda: services.image)

        def decide(image: ClusterImage, now_ms: int) -> Decision[list[ConfigResult]]:
            del now_ms
            return alter_configs(image, forwarded, schema=schema, validate_only=request.validate_only)

        results = await services.quorum.submit(decide)
    decided = iter(results)
    return _response([row or next(decided) for row in rows])


def error_response(context: RequestContext, request: AlterConfigsRequest, error: ApiError) -> AlterConfigsResponse:
    """The same failure for every resource."""
    del context
    return _response([refused(resource, error) for resource in request.resources])


def _response(results: list[ConfigResult]) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=result.error,
                error_message=result.message,
                resource_type=result.resource_type,
                resource_name=result.resource_name,
            )
            for result in results
        ]
    )
