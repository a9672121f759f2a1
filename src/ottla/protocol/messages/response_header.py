"""ResponseHeader, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ResponseHeader(Message):
    __slots__ = ("correlation_id",)
    FIELDS = (
        ("correlation_id", "int32", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
