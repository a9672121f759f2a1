"""SyncGroupResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class SyncGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("protocol_type", "string", "5+", "5+", -1, ""),
        ("protocol_name", "string", "5+", "5+", -1, ""),
        ("assignment", "bytes", "0+", "", -1, ""),
    )
    API_KEY = 14
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
