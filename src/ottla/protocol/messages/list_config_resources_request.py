"""ListConfigResourcesRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ListConfigResourcesRequest(Message):
    __slots__ = ("resource_types",)
    FIELDS = (
        ("resource_types", "[]int8", "1+", "", -1, ""),
    )
    API_KEY = 74
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        resource_types: Sequence[int] = (),
    ) -> None:
        self.resource_types = resource_types
