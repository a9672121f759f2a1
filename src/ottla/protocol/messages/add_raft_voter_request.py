"""AddRaftVoterRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class Listener(Message):
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


class AddRaftVoterRequest(Message):
    __slots__ = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")
    FIELDS = (
        ("cluster_id", "string", "0+", "0+", -1, ""),
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("voter_id", "int32", "0+", "", -1, ""),
        ("voter_directory_id", "uuid", "0+", "", -1, ""),
        ("listeners", "[]Listener", "0+", "", -1, ""),
        ("ack_when_committed", "bool", "1+", "", -1, ""),
    )
    API_KEY = 80
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: Sequence[Listener] = (),
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = listeners
        self.ack_when_committed = ack_when_committed
