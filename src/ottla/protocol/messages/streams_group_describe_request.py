"""StreamsGroupDescribeRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class StreamsGroupDescribeRequest(Message):
    __slots__ = ("group_ids", "include_authorized_operations")
    FIELDS = (
        ("group_ids", "[]string", "0+", "", -1, ""),
        ("include_authorized_operations", "bool", "0+", "", -1, ""),
    )
    API_KEY = 89
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = group_ids
        self.include_authorized_operations = include_authorized_operations
