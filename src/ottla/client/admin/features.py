"""The levels of the cluster's features.

The messages are imported by the calls: most clients never make one of them.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of


class UpgradeType(IntEnum):
    """In which direction a level may go, and whether metadata may be lost on the way."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """The level that a feature is to have; 0 disables it."""

    level: int
    type: UpgradeType = UpgradeType.UPGRADE


class FeatureCalls(AdminCalls):
    """The calls that change features."""

    async def update_features(
        self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False, timeout_ms: int | None = None
    ) -> dict[str, KafkaError | None]:
        """Change the levels of features, or only check that it would work; returns the error of each."""
        from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
        from ottla.protocol.messages.update_features_response import UpdateFeaturesResponse

        allowed_ms = self._allowed_ms(timeout_ms)
        rows = [
            FeatureUpdateKey(
                feature=name,
                max_version_level=update.level,
                allow_downgrade=update.type is not UpgradeType.UPGRADE,
                upgrade_type=update.type,
            )
            for name, update in updates.items()
        ]

        async def ask(connection: Connection) -> dict[str, KafkaError | None]:
            # In version 0 a request to validate would be carried out.
            version = connection.version_of(UpdateFeaturesRequest, lowest=1 if validate_only else 0)
            request = UpdateFeaturesRequest(feature_updates=rows, validate_only=validate_only, timeout_ms=allowed_ms)
            response = await connection.request(request, UpdateFeaturesResponse, version=version)
            whole = error_of(response.error_code, response.error_message)
            raise_if_moved(whole)
            errors: dict[str, KafkaError | None] = dict.fromkeys(updates, whole)
            for row in response.results:
                errors[row.feature] = error_of(row.error_code, row.error_message) or whole
            return errors

        return await self._at_controller("updating features", ask)
