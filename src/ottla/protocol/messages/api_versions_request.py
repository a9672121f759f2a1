"""ApiVersionsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ApiVersionsRequest(Message):
    __slots__ = ("client_software_name", "client_software_version")
    FIELDS = (
        ("client_software_name", "string", "3+", "", -1, ""),
        ("client_software_version", "string", "3+", "", -1, ""),
    )
    API_KEY = 18
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
