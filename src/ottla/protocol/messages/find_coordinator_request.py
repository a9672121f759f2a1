"""FindCoordinatorRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class FindCoordinatorRequest(Message):
    __slots__ = ("key", "key_type", "coordinator_keys")
    FIELDS = (
        ("key", "string", "0-3", "", -1, ""),
        ("key_type", "int8", "1+", "", -1, ""),
        ("coordinator_keys", "[]string", "4+", "", -1, ""),
    )
    API_KEY = 10
    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: Sequence[str] = (),
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = coordinator_keys
