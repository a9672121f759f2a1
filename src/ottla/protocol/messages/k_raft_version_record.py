"""KRaftVersionRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class KRaftVersionRecord(Message):
    __slots__ = ("version", "k_raft_version")
    FIELDS = (
        ("version", "int16", "0+", "", -1, ""),
        ("k_raft_version", "int16", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        version: int = 0,
        k_raft_version: int = 0,
    ) -> None:
        self.version = version
        self.k_raft_version = k_raft_version
