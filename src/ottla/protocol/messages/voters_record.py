"""VotersRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class Endpoint(Message):
    __slots__ = ("name", "host", "port")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("host", "string", "0+", "", -1, ""),
        ("port", "uint16", "0+", "", -1, ""),
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


class KRaftVersionFeature(Message):
    __slots__ = ("min_supported_version", "max_supported_version")
    FIELDS = (
        ("min_supported_version", "int16", "0+", "", -1, ""),
        ("max_supported_version", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class Voter(Message):
    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "k_raft_version_feature")
    FIELDS = (
        ("voter_id", "int32", "0+", "", -1, ""),
        ("voter_directory_id", "uuid", "0+", "", -1, ""),
        ("endpoints", "[]Endpoint", "0+", "", -1, ""),
        ("k_raft_version_feature", "KRaftVersionFeature", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: Sequence[Endpoint] = (),
        k_raft_version_feature: KRaftVersionFeature | None = None,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = endpoints
        self.k_raft_version_feature = KRaftVersionFeature() if k_raft_version_feature is None else k_raft_version_feature


class VotersRecord(Message):
    __slots__ = ("version", "voters")
    FIELDS = (
        ("version", "int16", "0+", "", -1, ""),
        ("voters", "[]Voter", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        version: int = 0,
        voters: Sequence[Voter] = (),
    ) -> None:
        self.version = version
        self.voters = voters
