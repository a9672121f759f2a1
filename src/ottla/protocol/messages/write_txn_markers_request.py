"""WriteTxnMarkersRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class WritableTxnMarkerTopic(Message):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partition_indexes", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes


class WritableTxnMarker(Message):
    __slots__ = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )
    FIELDS = (
        ("producer_id", "int64", "0+", "", -1, ""),
        ("producer_epoch", "int16", "0+", "", -1, ""),
        ("transaction_result", "bool", "0+", "", -1, ""),
        ("topics", "[]WritableTxnMarkerTopic", "0+", "", -1, ""),
        ("coordinator_epoch", "int32", "0+", "", -1, ""),
        ("transaction_version", "int8", "2+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: Sequence[WritableTxnMarkerTopic] = (),
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


class WriteTxnMarkersRequest(Message):
    __slots__ = ("markers",)
    FIELDS = (
        ("markers", "[]WritableTxnMarker", "0+", "", -1, ""),
    )
    API_KEY = 27
    VERSIONS = range(1, 3)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        markers: Sequence[WritableTxnMarker] = (),
    ) -> None:
        self.markers = markers
