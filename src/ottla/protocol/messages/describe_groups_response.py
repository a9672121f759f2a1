"""DescribeGroupsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribedGroupMember(Message):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "4+", "4+", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("member_metadata", "bytes", "0+", "", -1, ""),
        ("member_assignment", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: bytes = b"",
        member_assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "6+", "6+", -1, ""),
        ("group_id", "string", "0+", "", -1, ""),
        ("group_state", "string", "0+", "", -1, ""),
        ("protocol_type", "string", "0+", "", -1, ""),
        ("protocol_data", "string", "0+", "", -1, ""),
        ("members", "[]DescribedGroupMember", "0+", "", -1, ""),
        ("authorized_operations", "int32", "3+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: Sequence[DescribedGroupMember] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("groups", "[]DescribedGroup", "0+", "", -1, ""),
    )
    API_KEY = 15
    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 5

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
