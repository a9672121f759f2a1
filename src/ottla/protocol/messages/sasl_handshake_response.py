"""SaslHandshakeResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class SaslHandshakeResponse(Message):
    __slots__ = ("error_code", "mechanisms")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("mechanisms", "[]string", "0+", "", -1, ""),
    )
    API_KEY = 17
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: Sequence[str] = (),
    ) -> None:
        self.error_code = error_code
        self.mechanisms = mechanisms
