"""RemoveDelegationTokenRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class RemoveDelegationTokenRecord(Message):
    __slots__ = ("token_id",)
    FIELDS = (
        ("token_id", "string", "0+", "", -1, ""),
    )
    API_KEY = 26
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        token_id: str = "",
    ) -> None:
        self.token_id = token_id
