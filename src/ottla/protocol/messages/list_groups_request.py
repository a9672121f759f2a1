"""ListGroupsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ListGroupsRequest(Message):
    __slots__ = ("states_filter", "types_filter")
    FIELDS = (
        ("states_filter", "[]string", "4+", "", -1, ""),
        ("types_filter", "[]string", "5+", "", -1, ""),
    )
    API_KEY = 16
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        states_filter: Sequence[str] = (),
        types_filter: Sequence[str] = (),
    ) -> None:
        self.states_filter = states_filter
        self.types_filter = types_filter
