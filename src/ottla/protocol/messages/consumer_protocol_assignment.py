"""ConsumerProtocolAssignment, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class TopicPartition(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class ConsumerProtocolAssignment(Message):
    __slots__ = ("assigned_partitions", "user_data")
    FIELDS = (
        ("assigned_partitions", "[]TopicPartition", "0+", "", -1, ""),
        ("user_data", "bytes", "0+", "0+", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        assigned_partitions: Sequence[TopicPartition] = (),
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = assigned_partitions
        self.user_data = user_data
