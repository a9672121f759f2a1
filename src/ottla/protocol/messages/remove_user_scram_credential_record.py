"""RemoveUserScramCredentialRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class RemoveUserScramCredentialRecord(Message):
    __slots__ = ("name", "mechanism")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("mechanism", "int8", "0+", "", -1, ""),
    )
    API_KEY = 22
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
