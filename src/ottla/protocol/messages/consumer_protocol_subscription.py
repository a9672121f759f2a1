"""ConsumerProtocolSubscription, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class TopicPartition(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "1+", "", -1, ""),
        ("partitions", "[]int32", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class ConsumerProtocolSubscription(Message):
    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    FIELDS = (
        ("topics", "[]string", "0+", "", -1, ""),
        ("user_data", "bytes", "0+", "0+", -1, ""),
        ("owned_partitions", "[]TopicPartition", "1+", "", -1, ""),
        ("generation_id", "int32", "2+", "", -1, ""),
        ("rack_id", "string", "3+", "3+", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        user_data: bytes | None = None,
        owned_partitions: Sequence[TopicPartition] = (),
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = topics
        self.user_data = user_data
        self.owned_partitions = owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
