"""LeaderChangeMessage, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class Voter(Message):
    __slots__ = ("voter_id", "voter_directory_id")
    FIELDS = (
        ("voter_id", "int32", "0+", "", -1, ""),
        ("voter_directory_id", "uuid", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class LeaderChangeMessage(Message):
    __slots__ = ("version", "leader_id", "voters", "granting_voters")
    FIELDS = (
        ("version", "int16", "0+", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("voters", "[]Voter", "0+", "", -1, ""),
        ("granting_voters", "[]Voter", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: Sequence[Voter] = (),
        granting_voters: Sequence[Voter] = (),
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = voters
        self.granting_voters = granting_voters
