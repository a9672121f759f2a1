"""QuorumStateData, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class Voter(Message):
    __slots__ = ("voter_id",)
    FIELDS = (
        ("voter_id", "int32", "0", "", -1, ""),
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
    ) -> None:
        self.voter_id = voter_id


class QuorumStateData(Message):
    __slots__ = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )
    FIELDS = (
        ("cluster_id", "string", "0", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("voted_id", "int32", "0+", "", -1, ""),
        ("voted_directory_id", "uuid", "1+", "", -1, ""),
        ("applied_offset", "int64", "0", "", -1, ""),
        ("current_voters", "[]Voter", "0", "0", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: Sequence[Voter] | None = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = current_voters
