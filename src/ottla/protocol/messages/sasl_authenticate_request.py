"""SaslAuthenticateRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class SaslAuthenticateRequest(Message):
    __slots__ = ("auth_bytes",)
    FIELDS = (
        ("auth_bytes", "bytes", "0+", "", -1, ""),
    )
    API_KEY = 36
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes
