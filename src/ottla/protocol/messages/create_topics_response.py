"""CreateTopicsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class CreatableTopicConfigs(Message):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")
    FIELDS = (
        ("name", "string", "5+", "", -1, ""),
        ("value", "string", "5+", "5+", -1, ""),
        ("read_only", "bool", "5+", "", -1, ""),
        ("config_source", "int8", "5+", "", -1, ""),
        ("is_sensitive", "bool", "5+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreatableTopicResult(Message):
    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("topic_id", "uuid", "7+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "1+", "0+", -1, ""),
        ("topic_config_error_code", "int16", "5+", "", 0, "5+"),
        ("num_partitions", "int32", "5+", "", -1, ""),
        ("replication_factor", "int16", "5+", "", -1, ""),
        ("configs", "[]CreatableTopicConfigs", "5+", "5+", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Sequence[CreatableTopicConfigs] | None = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = configs


class CreateTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        ("throttle_time_ms", "int32", "2+", "", -1, ""),
        ("topics", "[]CreatableTopicResult", "0+", "", -1, ""),
    )
    API_KEY = 19
    VERSIONS = range(2, 8)
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[CreatableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
