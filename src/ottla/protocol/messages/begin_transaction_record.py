"""BeginTransactionRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class BeginTransactionRecord(Message):
    __slots__ = ("name",)
    FIELDS = (
        ("name", "string", "0+", "0+", 0, "0+"),
    )
    API_KEY = 23
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        name: str | None = None,
    ) -> None:
        self.name = name
