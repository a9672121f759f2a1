"""FeatureLevelRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class FeatureLevelRecord(Message):
    __slots__ = ("name", "feature_level")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("feature_level", "int16", "0+", "", -1, ""),
    )
    API_KEY = 12
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        name: str = "",
        feature_level: int = 0,
    ) -> None:
        self.name = name
        self.feature_level = feature_level
