"""OffsetFetchRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class OffsetFetchRequestTopic(Message):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        ("name", "string", "0-7", "", -1, ""),
        ("partition_indexes", "[]int32", "0-7", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes


class OffsetFetchRequestTopics(Message):
    __slots__ = ("name", "topic_id", "partition_indexes")
    FIELDS = (
        ("name", "string", "8-9", "", -1, ""),
        ("topic_id", "uuid", "10+", "", -1, ""),
        ("partition_indexes", "[]int32", "8+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = partition_indexes


class OffsetFetchRequestGroup(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")
    FIELDS = (
        ("group_id", "string", "8+", "", -1, ""),
        ("member_id", "string", "9+", "9+", -1, ""),
        ("member_epoch", "int32", "9+", "", -1, ""),
        ("topics", "[]OffsetFetchRequestTopics", "8+", "8+", -1, ""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: Sequence[OffsetFetchRequestTopics] | None = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = topics


class OffsetFetchRequest(Message):
    __slots__ = ("group_id", "topics", "groups", "require_stable")
    FIELDS = (
        ("group_id", "string", "0-7", "", -1, ""),
        ("topics", "[]OffsetFetchRequestTopic", "0-7", "2-7", -1, ""),
        ("groups", "[]OffsetFetchRequestGroup", "8+", "", -1, ""),
        ("require_stable", "bool", "7+", "", -1, ""),
    )
    API_KEY = 9
    VERSIONS = range(1, 11)
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchRequestTopic] | None = (),
        groups: Sequence[OffsetFetchRequestGroup] = (),
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.groups = groups
        self.require_stable = require_stable
