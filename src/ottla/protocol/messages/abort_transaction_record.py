"""AbortTransactionRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class AbortTransactionRecord(Message):
    __slots__ = ("reason",)
    FIELDS = (
        ("reason", "string", "0+", "0+", 0, "0+"),
    )
    API_KEY = 25
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        reason: str | None = None,
    ) -> None:
        self.reason = reason
