"""AlterClientQuotasRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

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


class OpData(Message):
    __slots__ = ("key", "value", "remove")
    FIELDS = (
        ("key", "string", "0+", "", -1, ""),
        ("value", "float64", "0+", "", -1, ""),
        ("remove", "bool", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class EntryData(Message):
    __slots__ = ("entity", "ops")
    FIELDS = (
        ("entity", "[]EntityData", "0+", "", -1, ""),
        ("ops", "[]OpData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        entity: Sequence[EntityData] = (),
        ops: Sequence[OpData] = (),
    ) -> None:
        self.entity = entity
        self.ops = ops


class AlterClientQuotasRequest(Message):
    __slots__ = ("entries", "validate_only")
    FIELDS = (
        ("entries", "[]EntryData", "0+", "", -1, ""),
        ("validate_only", "bool", "0+", "", -1, ""),
    )
    API_KEY = 49
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        entries: Sequence[EntryData] = (),
        validate_only: bool = False,
    ) -> None:
        self.entries = entries
        self.validate_only = validate_only
