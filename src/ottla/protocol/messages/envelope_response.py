"""EnvelopeResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class EnvelopeResponse(Message):
    __slots__ = ("response_data", "error_code")
    FIELDS = (
        ("response_data", "bytes", "0+", "0+", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
    )
    API_KEY = 58
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        response_data: bytes | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
