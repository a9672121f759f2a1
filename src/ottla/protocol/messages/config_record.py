"""ConfigRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ConfigRecord(Message):
    __slots__ = ("resource_type", "resource_name", "name", "value")
    FIELDS = (
        ("resource_type", "int8", "0+", "", -1, ""),
        ("resource_name", "string", "0+", "", -1, ""),
        ("name", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "0+", -1, ""),
    )
    API_KEY = 4
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
