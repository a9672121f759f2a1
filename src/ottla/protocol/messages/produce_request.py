"""ProduceRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message, Records
from ottla.protocol.uuids import ZERO_UUID


class PartitionProduceData(Message):
    __slots__ = ("index", "records")
    FIELDS = (
        ("index", "int32", "0+", "", -1, ""),
        ("records", "records", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        index: int = 0,
        records: Records | None = b"",
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Message):
    __slots__ = ("name", "topic_id", "partition_data")
    FIELDS = (
        ("name", "string", "0-12", "", -1, ""),
        ("topic_id", "uuid", "13+", "", -1, ""),
        ("partition_data", "[]PartitionProduceData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: Sequence[PartitionProduceData] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = partition_data


class ProduceRequest(Message):
    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")
    FIELDS = (
        ("transactional_id", "string", "3+", "3+", -1, ""),
        ("acks", "int16", "0+", "", -1, ""),
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("topic_data", "[]TopicProduceData", "0+", "", -1, ""),
    )
    API_KEY = 0
    VERSIONS = range(3, 14)
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: Sequence[TopicProduceData] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = topic_data
