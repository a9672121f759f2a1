"""DelegationTokenRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DelegationTokenRecord(Message):
    __slots__ = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
    )
    FIELDS = (
        ("owner", "string", "0+", "", -1, ""),
        ("requester", "string", "0+", "", -1, ""),
        ("renewers", "[]string", "0+", "", -1, ""),
        ("issue_timestamp", "int64", "0+", "", -1, ""),
        ("max_timestamp", "int64", "0+", "", -1, ""),
        ("expiration_timestamp", "int64", "0+", "", -1, ""),
        ("token_id", "string", "0+", "", -1, ""),
    )
    API_KEY = 10
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        owner: str = "",
        requester: str = "",
        renewers: Sequence[str] = (),
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
