"""ClientQuotaRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class EntityData(Message):
    __slots__ = ("entity_type", "entity_name")
    FIELDS = (
        ("entity_type", "string", "0+", "", -1, ""),
        ("entity_name", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class ClientQuotaRecord(Message):
    __slots__ = ("entity", "key", "value", "remove")
    FIELDS = (
        ("entity", "[]EntityData", "0+", "", -1, ""),
        ("key", "string", "0+", "", -1, ""),
        ("value", "float64", "0+", "", -1, ""),
        ("remove", "bool", "0+", "", -1, ""),
    )
    API_KEY = 14
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity = entity
        self.key = key
        self.value = value
        self.remove = remove
