"""EnvelopeRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class EnvelopeRequest(Message):
    __slots__ = ("request_data", "request_principal", "client_host_address")
    FIELDS = (
        ("request_data", "bytes", "0+", "", -1, ""),
        ("request_principal", "bytes", "0+", "0+", -1, ""),
        ("client_host_address", "bytes", "0+", "", -1, ""),
    )
    API_KEY = 58
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
