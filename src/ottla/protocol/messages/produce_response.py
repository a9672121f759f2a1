"""ProduceResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class BatchIndexAndErrorMessage(Message):
    __slots__ = ("batch_index", "batch_index_error_message")
    FIELDS = (
        ("batch_index", "int32", "8+", "", -1, ""),
        ("batch_index_error_message", "string", "8+", "8+", -1, ""),
    )

    def __init__(
        self,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Message):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS = (
        ("leader_id", "int32", "10+", "", -1, ""),
        ("leader_epoch", "int32", "10+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionProduceResponse(Message):
    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )
    FIELDS = (
        ("index", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("base_offset", "int64", "0+", "", -1, ""),
        ("log_append_time_ms", "int64", "2+", "", -1, ""),
        ("log_start_offset", "int64", "5+", "", -1, ""),
        ("record_errors", "[]BatchIndexAndErrorMessage", "8+", "", -1, ""),
        ("error_message", "string", "8+", "8+", -1, ""),
        ("current_leader", "LeaderIdAndEpoch", "10+", "", 0, "10+"),
    )

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] = (),
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = record_errors
        self.error_message = error_message
        self.current_leader = current_leader


class TopicProduceResponse(Message):
    __slots__ = ("name", "topic_id", "partition_responses")
    FIELDS = (
        ("name", "string", "0-12", "", -1, ""),
        ("topic_id", "uuid", "13+", "", -1, ""),
        ("partition_responses", "[]PartitionProduceResponse", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: Sequence[PartitionProduceResponse] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = partition_responses


class NodeEndpoint(Message):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        ("node_id", "int32", "10+", "", -1, ""),
        ("host", "string", "10+", "", -1, ""),
        ("port", "int32", "10+", "", -1, ""),
        ("rack", "string", "10+", "10+", -1, ""),
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


class ProduceResponse(Message):
    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")
    FIELDS = (
        ("responses", "[]TopicProduceResponse", "0+", "", -1, ""),
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("node_endpoints", "[]NodeEndpoint", "10+", "", 0, "10+"),
    )
    API_KEY = 0
    VERSIONS = range(3, 14)
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        *,
        responses: Sequence[TopicProduceResponse] = (),
        throttle_time_ms: int = 0,
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.responses = responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = node_endpoints
