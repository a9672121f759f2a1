"""CreatePartitionsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class CreatePartitionsAssignment(Message):
    __slots__ = ("broker_ids",)
    FIELDS = (
        ("broker_ids", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.broker_ids = broker_ids


class CreatePartitionsTopic(Message):
    __slots__ = ("name", "count", "assignments")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("count", "int32", "0+", "", -1, ""),
        ("assignments", "[]CreatePartitionsAssignment", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        count: int = 0,
        assignments: Sequence[CreatePartitionsAssignment] | None = (),
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = assignments


class CreatePartitionsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = (
        ("topics", "[]CreatePartitionsTopic", "0+", "", -1, ""),
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("validate_only", "bool", "0+", "", -1, ""),
    )
    API_KEY = 37
    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        topics: Sequence[CreatePartitionsTopic] = (),
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
