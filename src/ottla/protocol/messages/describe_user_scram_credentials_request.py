"""DescribeUserScramCredentialsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class UserName(Message):
    __slots__ = ("name",)
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ("users",)
    FIELDS = (
        ("users", "[]UserName", "0+", "0+", -1, ""),
    )
    API_KEY = 50
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        users: Sequence[UserName] | None = (),
    ) -> None:
        self.users = users
