"""ControlRecordTypeSchema, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ControlRecordTypeSchema(Message):
    __slots__ = ("type",)
    FIELDS = (
        ("type", "int16", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        type: int = 0,
    ) -> None:
        self.type = type
