"""LegacyOffsetCommitValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class LegacyOffsetCommitValue(Message):
    __slots__ = ("offset", "metadata", "commit_timestamp")
    FIELDS = (
        ("offset", "int64", "0", "", -1, ""),
        ("metadata", "string", "0", "", -1, ""),
        ("commit_timestamp", "int64", "0", "", -1, ""),
    )
    API_KEY = 0
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
