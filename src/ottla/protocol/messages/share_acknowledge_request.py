"""ShareAcknowledgeRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

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


class AcknowledgePartition(Message):
    __slots__ = ("partition_index", "acknowledgement_batches")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("acknowledgement_batches", "[]AcknowledgementBatch", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = acknowledgement_batches


class AcknowledgeTopic(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("partitions", "[]AcknowledgePartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[AcknowledgePartition] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ShareAcknowledgeRequest(Message):
    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")
    FIELDS = (
        ("group_id", "string", "0+", "0+", -1, ""),
        ("member_id", "string", "0+", "0+", -1, ""),
        ("share_session_epoch", "int32", "0+", "", -1, ""),
        ("is_renew_ack", "bool", "2+", "", -1, ""),
        ("topics", "[]AcknowledgeTopic", "0+", "", -1, ""),
    )
    API_KEY = 79
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[AcknowledgeTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = topics
