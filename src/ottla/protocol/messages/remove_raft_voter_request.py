"""RemoveRaftVoterRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class RemoveRaftVoterRequest(Message):
    __slots__ = ("cluster_id", "voter_id", "voter_directory_id")
    FIELDS = (
        ("cluster_id", "string", "0+", "0+", -1, ""),
        ("voter_id", "int32", "0+", "", -1, ""),
        ("voter_directory_id", "uuid", "0+", "", -1, ""),
    )
    API_KEY = 81
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
