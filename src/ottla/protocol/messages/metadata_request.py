"""MetadataRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class MetadataRequestTopic(Message):
    __slots__ = ("topic_id", "name")
    FIELDS = (
        ("topic_id", "uuid", "10+", "", -1, ""),
        ("name", "string", "0+", "10+", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name


class MetadataRequest(Message):
    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )
    FIELDS = (
        ("topics", "[]MetadataRequestTopic", "0+", "1+", -1, ""),
        ("allow_auto_topic_creation", "bool", "4+", "", -1, ""),
        ("include_cluster_authorized_operations", "bool", "8-10", "", -1, ""),
        ("include_topic_authorized_operations", "bool", "8+", "", -1, ""),
    )
    API_KEY = 3
    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        *,
        topics: Sequence[MetadataRequestTopic] | None = (),
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
