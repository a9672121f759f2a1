"""ListGroupsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ListedGroup(Message):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("protocol_type", "string", "0+", "", -1, ""),
        ("group_state", "string", "4+", "", -1, ""),
        ("group_type", "string", "5+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


class ListGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("groups", "[]ListedGroup", "0+", "", -1, ""),
    )
    API_KEY = 16
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: Sequence[ListedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = groups
