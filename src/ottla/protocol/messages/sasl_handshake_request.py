"""SaslHandshakeRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class SaslHandshakeRequest(Message):
    __slots__ = ("mechanism",)
    FIELDS = (
        ("mechanism", "string", "0+", "", -1, ""),
    )
    API_KEY = 17
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism
