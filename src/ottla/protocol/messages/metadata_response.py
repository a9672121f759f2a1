"""MetadataResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class MetadataResponseBroker(Message):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        ("node_id", "int32", "0+", "", -1, ""),
        ("host", "string", "0+", "", -1, ""),
        ("port", "int32", "0+", "", -1, ""),
        ("rack", "string", "1+", "1+", -1, ""),
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


class MetadataResponsePartition(Message):
    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("partition_index", "int32", "0+", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "7+", "", -1, ""),
        ("replica_nodes", "[]int32", "0+", "", -1, ""),
        ("isr_nodes", "[]int32", "0+", "", -1, ""),
        ("offline_replicas", "[]int32", "5+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = replica_nodes
        self.isr_nodes = isr_nodes
        self.offline_replicas = offline_replicas


class MetadataResponseTopic(Message):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("name", "string", "0+", "12+", -1, ""),
        ("topic_id", "uuid", "10+", "", -1, ""),
        ("is_internal", "bool", "1+", "", -1, ""),
        ("partitions", "[]MetadataResponsePartition", "0+", "", -1, ""),
        ("topic_authorized_operations", "int32", "8+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: Sequence[MetadataResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )
    FIELDS = (
        ("throttle_time_ms", "int32", "3+", "", -1, ""),
        ("brokers", "[]MetadataResponseBroker", "0+", "", -1, ""),
        ("cluster_id", "string", "2+", "2+", -1, ""),
        ("controller_id", "int32", "1+", "", -1, ""),
        ("topics", "[]MetadataResponseTopic", "0+", "", -1, ""),
        ("cluster_authorized_operations", "int32", "8-10", "", -1, ""),
        ("error_code", "int16", "13+", "", -1, ""),
    )
    API_KEY = 3
    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: Sequence[MetadataResponseBroker] = (),
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: Sequence[MetadataResponseTopic] = (),
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
