"""RenewDelegationTokenRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class RenewDelegationTokenRequest(Message):
    __slots__ = ("hmac", "renew_period_ms")
    FIELDS = (
        ("hmac", "bytes", "0+", "", -1, ""),
        ("renew_period_ms", "int64", "0+", "", -1, ""),
    )
    API_KEY = 39
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        hmac: bytes = b"",
        renew_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms
