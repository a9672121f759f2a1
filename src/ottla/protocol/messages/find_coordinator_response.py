"""FindCoordinatorResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class Coordinator(Message):
    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")
    FIELDS = (
        ("key", "string", "4+", "", -1, ""),
        ("node_id", "int32", "4+", "", -1, ""),
        ("host", "string", "4+", "", -1, ""),
        ("port", "int32", "4+", "", -1, ""),
        ("error_code", "int16", "4+", "", -1, ""),
        ("error_message", "string", "4+", "4+", -1, ""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


class FindCoordinatorResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("error_code", "int16", "0-3", "", -1, ""),
        ("error_message", "string", "1-3", "1-3", -1, ""),
        ("node_id", "int32", "0-3", "", -1, ""),
        ("host", "string", "0-3", "", -1, ""),
        ("port", "int32", "0-3", "", -1, ""),
        ("coordinators", "[]Coordinator", "4+", "", -1, ""),
    )
    API_KEY = 10
    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: Sequence[Coordinator] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = coordinators
