"""ReadShareGroupStateResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class StateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    FIELDS = (
        ("first_offset", "int64", "0+", "", -1, ""),
        ("last_offset", "int64", "0+", "", -1, ""),
        ("delivery_state", "int8", "0+", "", -1, ""),
        ("delivery_count", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class PartitionResult(Message):
    __slots__ = ("partition", "error_code", "error_message", "state_epoch", "start_offset", "state_batches")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
        ("state_epoch", "int32", "0+", "", -1, ""),
        ("start_offset", "int64", "0+", "", -1, ""),
        ("state_batches", "[]StateBatch", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        start_offset: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.start_offset = start_offset
        self.state_batches = state_batches


class ReadStateResult(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("partitions", "[]PartitionResult", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ReadShareGroupStateResponse(Message):
    __slots__ = ("results",)
    FIELDS = (
        ("results", "[]ReadStateResult", "0+", "", -1, ""),
    )
    API_KEY = 84
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        results: Sequence[ReadStateResult] = (),
    ) -> None:
        self.results = results
