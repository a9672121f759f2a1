"""SnapshotFooterRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class SnapshotFooterRecord(Message):
    __slots__ = ("version",)
    FIELDS = (
        ("version", "int16", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        version: int = 0,
    ) -> None:
        self.version = version
