"""DescribeGroupsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeGroupsRequest(Message):
    __slots__ = ("groups", "include_authorized_operations")
    FIELDS = (
        ("groups", "[]string", "0+", "", -1, ""),
        ("include_authorized_operations", "bool", "3+", "", -1, ""),
    )
    API_KEY = 15
    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        *,
        groups: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = groups
        self.include_authorized_operations = include_authorized_operations
