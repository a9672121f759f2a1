"""SaslAuthenticateResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class SaslAuthenticateResponse(Message):
    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
        ("auth_bytes", "bytes", "0+", "", -1, ""),
        ("session_lifetime_ms", "int64", "1+", "", -1, ""),
    )
    API_KEY = 36
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
