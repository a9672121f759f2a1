"""OffsetCommitValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class OffsetCommitValue(Message):
    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")
    FIELDS = (
        ("offset", "int64", "0+", "", -1, ""),
        ("leader_epoch", "int32", "3+", "", -1, ""),
        ("metadata", "string", "0+", "", -1, ""),
        ("commit_timestamp", "int64", "0+", "", -1, ""),
        ("expire_timestamp", "int64", "1", "", -1, ""),
        ("topic_id", "uuid", "4+", "", 0, "4+"),
    )
    API_KEY = 1
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
