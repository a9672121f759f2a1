"""CreateTopicsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class CreatableReplicaAssignment(Message):
    __slots__ = ("partition_index", "broker_ids")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("broker_ids", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = broker_ids


class CreatableTopicConfig(Message):
    __slots__ = ("name", "value")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Message):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("num_partitions", "int32", "0+", "", -1, ""),
        ("replication_factor", "int16", "0+", "", -1, ""),
        ("assignments", "[]CreatableReplicaAssignment", "0+", "", -1, ""),
        ("configs", "[]CreatableTopicConfig", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Sequence[CreatableTopicConfig] = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = assignments
        self.configs = configs


class CreateTopicsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = (
        ("topics", "[]CreatableTopic", "0+", "", -1, ""),
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("validate_only", "bool", "1+", "", -1, ""),
    )
    API_KEY = 19
    VERSIONS = range(2, 8)
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        *,
        topics: Sequence[CreatableTopic] = (),
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
