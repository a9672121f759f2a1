"""DescribeClientQuotasRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ComponentData(Message):
    __slots__ = ("entity_type", "match_type", "match")
    FIELDS = (
        ("entity_type", "string", "0+", "", -1, ""),
        ("match_type", "int8", "0+", "", -1, ""),
        ("match", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Message):
    __slots__ = ("components", "strict")
    FIELDS = (
        ("components", "[]ComponentData", "0+", "", -1, ""),
        ("strict", "bool", "0+", "", -1, ""),
    )
    API_KEY = 48
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        components: Sequence[ComponentData] = (),
        strict: bool = False,
    ) -> None:
        self.components = components
        self.strict = strict
