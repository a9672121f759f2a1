"""FetchResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message, Records
from ottla.protocol.uuids import ZERO_UUID


class EpochEndOffset(Message):
    __slots__ = ("epoch", "end_offset")
    FIELDS = (
        ("epoch", "int32", "12+", "", -1, ""),
        ("end_offset", "int64", "12+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Message):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS = (
        ("leader_id", "int32", "12+", "", -1, ""),
        ("leader_epoch", "int32", "12+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class SnapshotId(Message):
    __slots__ = ("end_offset", "epoch")
    FIELDS = (
        ("end_offset", "int64", "0+", "", -1, ""),
        ("epoch", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class AbortedTransaction(Message):
    __slots__ = ("producer_id", "first_offset")
    FIELDS = (
        ("producer_id", "int64", "4+", "", -1, ""),
        ("first_offset", "int64", "4+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("high_watermark", "int64", "0+", "", -1, ""),
        ("last_stable_offset", "int64", "4+", "", -1, ""),
        ("log_start_offset", "int64", "5+", "", -1, ""),
        ("diverging_epoch", "EpochEndOffset", "12+", "", 0, "12+"),
        ("current_leader", "LeaderIdAndEpoch", "12+", "", 1, "12+"),
        ("snapshot_id", "SnapshotId", "12+", "", 2, "12+"),
        ("aborted_transactions", "[]AbortedTransaction", "4+", "4+", -1, ""),
        ("preferred_read_replica", "int32", "11+", "", -1, ""),
        ("records", "records", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: Sequence[AbortedTransaction] | None = (),
        preferred_read_replica: int = -1,
        records: Records | None = b"",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.aborted_transactions = aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Message):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        ("topic", "string", "0-12", "", -1, ""),
        ("topic_id", "uuid", "13+", "", -1, ""),
        ("partitions", "[]PartitionData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class NodeEndpoint(Message):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        ("node_id", "int32", "16+", "", -1, ""),
        ("host", "string", "16+", "", -1, ""),
        ("port", "int32", "16+", "", -1, ""),
        ("rack", "string", "16+", "16+", -1, ""),
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class FetchResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("error_code", "int16", "7+", "", -1, ""),
        ("session_id", "int32", "7+", "", -1, ""),
        ("responses", "[]FetchableTopicResponse", "0+", "", -1, ""),
        ("node_endpoints", "[]NodeEndpoint", "16+", "", 0, "16+"),
    )
    API_KEY = 1
    VERSIONS = range(4, 19)
    FLEXIBLE_FROM = 12

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: Sequence[FetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = responses
        self.node_endpoints = node_endpoints
