"""DeleteGroupsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DeletableGroupResult(Message):
    __slots__ = ("group_id", "error_code")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code


class DeleteGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("results", "[]DeletableGroupResult", "0+", "", -1, ""),
    )
    API_KEY = 42
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DeletableGroupResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
