"""ShareGroupDescribeResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class TopicPartitions(Message):
    __slots__ = ("topic_id", "topic_name", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("topic_name", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = partitions


class Assignment(Message):
    __slots__ = ("topic_partitions",)
    FIELDS = (
        ("topic_partitions", "[]TopicPartitions", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class Member(Message):
    __slots__ = (
        "member_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "assignment",
    )
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("subscribed_topic_names", "[]string", "0+", "", -1, ""),
        ("assignment", "Assignment", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        assignment: Assignment | None = None,
    ) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = subscribed_topic_names
        self.assignment = Assignment() if assignment is None else assignment


class DescribedGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
        ("group_id", "string", "0+", "", -1, ""),
        ("group_state", "string", "0+", "", -1, ""),
        ("group_epoch", "int32", "0+", "", -1, ""),
        ("assignment_epoch", "int32", "0+", "", -1, ""),
        ("assignor_name", "string", "0+", "", -1, ""),
        ("members", "[]Member", "0+", "", -1, ""),
        ("authorized_operations", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = members
        self.authorized_operations = authorized_operations


class ShareGroupDescribeResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("groups", "[]DescribedGroup", "0+", "", -1, ""),
    )
    API_KEY = 77
    VERSIONS = range(1, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
