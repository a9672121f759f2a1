"""FetchRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class ReplicaState(Message):
    __slots__ = ("replica_id", "replica_epoch")
    FIELDS = (
        ("replica_id", "int32", "15+", "", -1, ""),
        ("replica_epoch", "int64", "15+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


class FetchPartition(Message):
    __slots__ = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("current_leader_epoch", "int32", "9+", "", -1, ""),
        ("fetch_offset", "int64", "0+", "", -1, ""),
        ("last_fetched_epoch", "int32", "12+", "", -1, ""),
        ("log_start_offset", "int64", "5+", "", -1, ""),
        ("partition_max_bytes", "int32", "0+", "", -1, ""),
        ("replica_directory_id", "uuid", "17+", "", 0, "17+"),
        ("high_watermark", "int64", "18+", "", 1, "18+"),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


class FetchTopic(Message):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        ("topic", "string", "0-12", "", -1, ""),
        ("topic_id", "uuid", "13+", "", -1, ""),
        ("partitions", "[]FetchPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class ForgottenTopic(Message):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        ("topic", "string", "7-12", "", -1, ""),
        ("topic_id", "uuid", "13+", "", -1, ""),
        ("partitions", "[]int32", "7+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class FetchRequest(Message):
    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )
    FIELDS = (
        ("cluster_id", "string", "12+", "12+", 0, "12+"),
        ("replica_id", "int32", "0-14", "", -1, ""),
        ("replica_state", "ReplicaState", "15+", "", 1, "15+"),
        ("max_wait_ms", "int32", "0+", "", -1, ""),
        ("min_bytes", "int32", "0+", "", -1, ""),
        ("max_bytes", "int32", "3+", "", -1, ""),
        ("isolation_level", "int8", "4+", "", -1, ""),
        ("session_id", "int32", "7+", "", -1, ""),
        ("session_epoch", "int32", "7+", "", -1, ""),
        ("topics", "[]FetchTopic", "0+", "", -1, ""),
        ("forgotten_topics_data", "[]ForgottenTopic", "7+", "", -1, ""),
        ("rack_id", "string", "11+", "", -1, ""),
    )
    API_KEY = 1
    VERSIONS = range(4, 19)
    FLEXIBLE_FROM = 12

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = topics
        self.forgotten_topics_data = forgotten_topics_data
        self.rack_id = rack_id
