"""UpdateFeaturesRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class FeatureUpdateKey(Message):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    FIELDS = (
        ("feature", "string", "0+", "", -1, ""),
        ("max_version_level", "int16", "0+", "", -1, ""),
        ("allow_downgrade", "bool", "0", "", -1, ""),
        ("upgrade_type", "int8", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


class UpdateFeaturesRequest(Message):
    __slots__ = ("timeout_ms", "feature_updates", "validate_only")
    FIELDS = (
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("feature_updates", "[]FeatureUpdateKey", "0+", "", -1, ""),
        ("validate_only", "bool", "1+", "", -1, ""),
    )
    API_KEY = 57
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: Sequence[FeatureUpdateKey] = (),
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = feature_updates
        self.validate_only = validate_only
