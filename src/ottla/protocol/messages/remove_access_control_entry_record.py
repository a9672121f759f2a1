"""RemoveAccessControlEntryRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class RemoveAccessControlEntryRecord(Message):
    __slots__ = ("id",)
    FIELDS = (
        ("id", "uuid", "0+", "", -1, ""),
    )
    API_KEY = 19
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        id: bytes = ZERO_UUID,
    ) -> None:
        self.id = id
