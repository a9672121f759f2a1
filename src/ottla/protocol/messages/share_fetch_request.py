"""ShareFetchRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class AcknowledgementBatch(Message):
    __slots__ = ("first_offset", "last_offset", "acknowledge_types")
    FIELDS = (
        ("first_offset", "int64", "0+", "", -1, ""),
        ("last_offset", "int64", "0+", "", -1, ""),
        ("acknowledge_types", "[]int8", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: Sequence[int] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = acknowledge_types


class FetchPartition(Message):
    __slots__ = ("partition_index", "partition_max_bytes", "acknowledgement_batches")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("partition_max_bytes", "int32", "0", "", -1, ""),
        ("acknowledgement_batches", "[]AcknowledgementBatch", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_max_bytes: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_max_bytes = partition_max_bytes
        self.acknowledgement_batches = acknowledgement_batches


class FetchTopic(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("partitions", "[]FetchPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ForgottenTopic(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ShareFetchRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "share_session_epoch",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "max_records",
        "batch_size",
        "share_acquire_mode",
        "is_renew_ack",
        "topics",
        "forgotten_topics_data",
    )
    FIELDS = (
        ("group_id", "string", "0+", "0+", -1, ""),
        ("member_id", "string", "0+", "0+", -1, ""),
        ("share_session_epoch", "int32", "0+", "", -1, ""),
        ("max_wait_ms", "int32", "0+", "", -1, ""),
        ("min_bytes", "int32", "0+", "", -1, ""),
        ("max_bytes", "int32", "0+", "", -1, ""),
        ("max_records", "int32", "1+", "", -1, ""),
        ("batch_size", "int32", "1+", "", -1, ""),
        ("share_acquire_mode", "int8", "2+", "", -1, ""),
        ("is_renew_ack", "bool", "2+", "", -1, ""),
        ("topics", "[]FetchTopic", "0+", "", -1, ""),
        ("forgotten_topics_data", "[]ForgottenTopic", "0+", "", -1, ""),
    )
    API_KEY = 78
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = topics
        self.forgotten_topics_data = forgotten_topics_data
