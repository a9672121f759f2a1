"""Changes of features; a broker of ours does not serve them yet."""

import asyncio

from ottla.client import Client, KafkaError
from ottla.client.admin.features import FeatureUpdate, UpgradeType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdateFeaturesResponse
from unit.client.answering_broker import asked

UPDATES = {"a": FeatureUpdate(2), "b": FeatureUpdate(0, UpgradeType.UNSAFE_DOWNGRADE)}


def test_levels_of_features_are_updated_together() -> None:
    async def update(client: Client) -> dict[str, KafkaError | None]:
        return await client.admin.update_features(UPDATES, validate_only=True)

    errors, (request,) = asyncio.run(asked({UpdateFeaturesRequest: UpdateFeaturesResponse()}, update))
    assert errors == {"a": None, "b": None}
    assert isinstance(request, UpdateFeaturesRequest)
    assert request.validate_only
    assert list(request.feature_updates) == [
        FeatureUpdateKey(feature="a", max_version_level=2, upgrade_type=1),
        FeatureUpdateKey(feature="b", max_version_level=0, upgrade_type=3),
    ]


def test_a_refusal_concerns_every_feature() -> None:
    refusal = UpdateFeaturesResponse(error_code=ErrorCode.FEATURE_UPDATE_FAILED, error_message="no")

    async def update(client: Client) -> dict[str, KafkaError | None]:
        return await client.admin.update_features(UPDATES)

    errors, _ = asyncio.run(asked({UpdateFeaturesRequest: refusal}, update))
    failed = KafkaError(ErrorCode.FEATURE_UPDATE_FAILED, "no")
    assert errors == {"a": failed, "b": failed}
