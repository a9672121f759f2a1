"""RequestHeader, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class RequestHeader(Message):
    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")
    FIELDS = (
        ("request_api_key", "int16", "0+", "", -1, ""),
        ("request_api_version", "int16", "0+", "", -1, ""),
        ("correlation_id", "int32", "0+", "", -1, ""),
        ("client_id", "string", "1+", "1+", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
