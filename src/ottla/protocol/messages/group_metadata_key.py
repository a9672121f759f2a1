"""GroupMetadataKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class GroupMetadataKey(Message):
    __slots__ = ("group",)
    FIELDS = (
        ("group", "string", "0", "", -1, ""),
    )
    API_KEY = 2
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group: str = "",
    ) -> None:
        self.group = group
