"""DeleteGroupsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DeleteGroupsRequest(Message):
    __slots__ = ("groups_names",)
    FIELDS = (
        ("groups_names", "[]string", "0+", "", -1, ""),
    )
    API_KEY = 42
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        groups_names: Sequence[str] = (),
    ) -> None:
        self.groups_names = groups_names
