"""UpdateFeatures: change the levels of features (KIP-584).

Versions: 1 adds the kind of upgrade and validation without effect, 2 answers one error for the whole request, because
either all updates are made or none (KIP-1022).
"""

from ottla.broker.request_context import RequestContext
from ottla.metadata.controller.feature_updates import FeatureUpdate, UpgradeType, update_features
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

API_KEY = ApiKey.UPDATE_FEATURES
REQUEST = UpdateFeaturesRequest

_TYPES_FROM = 1
_ONE_ERROR_FROM = 2


async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    updates = [_update(context.api_version, row) for row in request.feature_updates]
    if len({update.feature for update in updates}) < len(updates):
        raise ApiError(ErrorCode.INVALID_REQUEST, "a feature is named twice")
    quorum = context.broker.quorum
    kraft_version = quorum.kraft_version
    await quorum.submit(
        lambda image, _: update_features(
            image, updates, kraft_version=kraft_version, validate_only=request.validate_only
        )
    )
    return _answer(context, request, ErrorCode.NONE, None)


def error_response(context: RequestContext, request: UpdateFeaturesRequest, error: ApiError) -> UpdateFeaturesResponse:
    return _answer(context, request, error.code, error.message)


def _answer(
    context: RequestContext, request: UpdateFeaturesRequest, code: ErrorCode, message: str | None
) -> UpdateFeaturesResponse:
    if context.api_version >= _ONE_ERROR_FROM:
        return UpdateFeaturesResponse(error_code=code, error_message=message)
    return UpdateFeaturesResponse(
        results=[
            UpdatableFeatureResult(feature=row.feature, error_code=code, error_message=message)
            for row in request.feature_updates
        ]
    )


def _update(api_version: int, row: FeatureUpdateKey) -> FeatureUpdate:
    upgrade_type = row.upgrade_type
    if api_version < _TYPES_FROM:
        upgrade_type = UpgradeType.UNSAFE_DOWNGRADE if row.allow_downgrade else UpgradeType.UPGRADE
    return FeatureUpdate(row.feature, row.max_version_level, upgrade_type)
