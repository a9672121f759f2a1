"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single configs of a resource (KIP-339).

Each resource succeeds or fails alone, and all changes to one are written together. Levels of broker loggers are set in
this process alone and at once (KIP-412); everything else goes through the controller and is answered when it is in
force here. `validate_only` does everything but the change.

Versions: 1 is flexible.
"""

from collections.abc import Iterator

from ottla.broker.configs.altered_resources import Refusals, node_id_of
from ottla.broker.requests.request_context import RequestContext
from ottla.config.logger_levels import check_logger_level, set_logger_level
from ottla.metadata.controller.configs import AlterOperation
from ottla.metadata.image import ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

API_KEY = ApiKey.INCREMENTAL_ALTER_CONFIGS
REQUEST = IncrementalAlterConfigsRequest


async def handle(context: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    """One row per resource, in the order asked."""
    node_id = context.broker.config.node_id
    refusals = Refusals(request.resources, node_id, locally_served=(ResourceType.BROKER_LOGGER,))
    rows: list[AlterConfigsResourceResponse | None] = []
    forwarded: list[AlterConfigsResource] = []
    for resource in request.resources:
        try:
            refusals.check(resource, _needing_value(resource))
            if resource.resource_type == ResourceType.BROKER_LOGGER:
                _alter_loggers(node_id, resource, validate_only=request.validate_only)
                rows.append(_row(resource))
            else:
                rows.append(None)
                forwarded.append(resource)
        except ApiError as error:
            rows.append(_row(resource, error))
    decided: Iterator[AlterConfigsResourceResponse] = iter(())
    if forwarded:
        wanted = IncrementalAlterConfigsRequest(resources=forwarded, validate_only=request.validate_only)
        response = await context.broker.metadata.controller.handle(context, wanted)
        assert isinstance(response, IncrementalAlterConfigsResponse)
        decided = iter(response.responses)
    return IncrementalAlterConfigsResponse(responses=[row or next(decided) for row in rows])


def error_response(
    context: RequestContext, request: IncrementalAlterConfigsRequest, error: ApiError
) -> IncrementalAlterConfigsResponse:
    """The same failure for every resource."""
    del context
    return IncrementalAlterConfigsResponse(responses=[_row(resource, error) for resource in request.resources])


def _needing_value(resource: AlterConfigsResource) -> list[AlterableConfig]:
    return [config for config in resource.configs if config.config_operation != AlterOperation.DELETE]


def _alter_loggers(node_id: int, resource: AlterConfigsResource, *, validate_only: bool) -> None:
    if node_id_of(resource.resource_name) != node_id:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected node id. Expected {node_id}, but received {resource.resource_name}",
        )
    levels: dict[str, str | None] = {}
    for config in resource.configs:
        if config.config_operation == AlterOperation.SET:
            levels[config.name] = config.value
        elif config.config_operation == AlterOperation.DELETE:
            levels[config.name] = None
        else:
            operation = _operation_name(config.config_operation)
            raise ApiError(
                ErrorCode.INVALID_REQUEST, f"{operation} operation is not allowed for the BROKER_LOGGER resource"
            )
        check_logger_level(config.name, levels[config.name])
    if not validate_only:
        for name, level in levels.items():
            set_logger_level(name, level)


def _operation_name(operation: int) -> str:
    try:
        return AlterOperation(operation).name
    except ValueError:
        return f"Unknown ({operation})"


def _row(resource: AlterConfigsResource, error: ApiError | None = None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
