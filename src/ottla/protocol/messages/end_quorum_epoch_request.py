"""EndQuorumEpochRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class ReplicaInfo(Message):
    __slots__ = ("candidate_id", "candidate_directory_id")
    FIELDS = (
        ("candidate_id", "int32", "1+", "", -1, ""),
        ("candidate_directory_id", "uuid", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        candidate_id: int = 0,
        candidate_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id


class PartitionData(Message):
    __slots__ = ("partition_index", "leader_id", "leader_epoch", "preferred_successors", "preferred_candidates")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("preferred_successors", "[]int32", "0", "", -1, ""),
        ("preferred_candidates", "[]ReplicaInfo", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: Sequence[int] = (),
        preferred_candidates: Sequence[ReplicaInfo] = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors = preferred_successors
        self.preferred_candidates = preferred_candidates


class TopicData(Message):
    __slots__ = ("topic_name", "partitions")
    FIELDS = (
        ("topic_name", "string", "0+", "", -1, ""),
        ("partitions", "[]PartitionData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class LeaderEndpoint(Message):
    __slots__ = ("name", "host", "port")
    FIELDS = (
        ("name", "string", "1+", "", -1, ""),
        ("host", "string", "1+", "", -1, ""),
        ("port", "uint16", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class EndQuorumEpochRequest(Message):
    __slots__ = ("cluster_id", "topics", "leader_endpoints")
    FIELDS = (
        ("cluster_id", "string", "0+", "0+", -1, ""),
        ("topics", "[]TopicData", "0+", "", -1, ""),
        ("leader_endpoints", "[]LeaderEndpoint", "1+", "", -1, ""),
    )
    API_KEY = 54
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        topics: Sequence[TopicData] = (),
        leader_endpoints: Sequence[LeaderEndpoint] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.topics = topics
        self.leader_endpoints = leader_endpoints
