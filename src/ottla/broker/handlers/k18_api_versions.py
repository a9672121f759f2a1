"""ApiVersions: which APIs in which versions, and which features the cluster has agreed on.

Versions: 0-2 differ in the throttle field; 3 is flexible and carries the client's name (KIP-511) and the features
(KIP-584); 4 allows a feature's lowest version to be 0. A request in a version that we do not know is answered in
version 0 with UNSUPPORTED_VERSION and the versions of this API, so that the client can ask again.
"""

import re

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.controller.features import SUPPORTED, finalized_levels
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.envelope import FORWARDABLE
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

API_KEY = ApiKey.API_VERSIONS
REQUEST = ApiVersionsRequest

_SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Everything that this node serves."""
    if context.api_version >= 3 and not _is_valid_client(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    image = context.broker.image
    finalized = finalized_levels(image, context.broker.metadata.log.kraft_version)
    return ApiVersionsResponse(
        api_keys=_served(context),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=versions.minimum, max_version=versions.maximum)
            for name, versions in SUPPORTED.items()
            # Version 3 clients cannot take a lowest version of 0 (KAFKA-17492).
            if versions.minimum > 0 or context.api_version >= 4
        ],
        finalized_features_epoch=image.end_offset - 1,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in sorted(finalized.items())
        ],
    )


def error_response(context: RequestContext, request: ApiVersionsRequest, error: ApiError) -> ApiVersionsResponse:
    """What a client needs to ask again in a version that we know."""
    del request
    own = context.broker.served_versions[API_KEY]
    row = ApiVersion(api_key=API_KEY, min_version=own.start, max_version=own.stop - 1)
    return ApiVersionsResponse(error_code=error.code, api_keys=[row])


def _served(context: RequestContext) -> list[ApiVersion]:
    rows = []
    of_controller = context.broker.metadata.controller_versions()
    for key, versions in sorted(context.broker.served_versions.items()):
        # librdkafka compresses only for a broker that claims Produce 0 (KAFKA-18659).
        lowest, highest = 0 if key == ApiKey.PRODUCE else versions.start, versions.stop - 1
        if of_controller is not None and key in FORWARDABLE:
            # What is handed on has to suit the controller, too.
            offered = of_controller.get(key, (1, 0))
            lowest, highest = max(lowest, offered[0]), min(highest, offered[1])
        if lowest <= highest:
            rows.append(ApiVersion(api_key=key, min_version=lowest, max_version=highest))
    return rows


def _is_valid_client(request: ApiVersionsRequest) -> bool:
    return bool(
        _SOFTWARE_NAME.fullmatch(request.client_software_name)
        and _SOFTWARE_NAME.fullmatch(request.client_software_version)
    )
