"""UpdateFeatures: change the levels of features (KIP-584).

Versions: 1 adds the kind of upgrade and validation without effect; 2 has no row for each feature any more (KIP-1022).

Either all updates are made or none, so an error is the request's own in every version, as in Kafka 4. Of a feature that
is named twice the last row counts.
"""

from ottla.broker.request_context import RequestContext
from ottla.metadata.controller.feature_updates import FeatureUpdate, UpgradeType, update_features
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

API_KEY = ApiKey.UPDATE_FEATURES
REQUEST = UpdateFeaturesRequest

_TYPES_FROM = 1
_NO_ROWS_FROM = 2
# What Kafka writes into the message of a row that succeeded.
_ROW_SUCCESS_MESSAGE = "NONE"


async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    by_feature = {row.feature: _update(context.api_version, row) for row in request.feature_updates}
    updates = list(by_feature.values())
    quorum = context.broker.quorum
    kraft_version = quorum.kraft_version
    await quorum.submit(
        lambda image, _: update_features(
            image, updates, kraft_version=kraft_version, validate_only=request.validate_only
        )
    )
    if context.api_version >= _NO_ROWS_FROM:
        return UpdateFeaturesResponse(error_message=None)
    rows = [UpdatableFeatureResult(feature=name, error_message=_ROW_SUCCESS_MESSAGE) for name in by_feature]
    return UpdateFeaturesResponse(error_message=None, results=rows)


def error_response(
    _context: RequestContext, _request: UpdateFeaturesRequest, error: ApiError
) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)


def _update(api_version: int, row: FeatureUpdateKey) -> FeatureUpdate:
    upgrade_type = row.upgrade_type
    if api_version < _TYPES_FROM:
        upgrade_type = UpgradeType.UNSAFE_DOWNGRADE if row.allow_downgrade else UpgradeType.UPGRADE
    return FeatureUpdate(row.feature, row.max_version_level, upgrade_type)
