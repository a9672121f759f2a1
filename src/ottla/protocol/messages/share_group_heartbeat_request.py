"""ShareGroupHeartbeatRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ShareGroupHeartbeatRequest(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("subscribed_topic_names", "[]string", "0+", "0+", -1, ""),
    )
    API_KEY = 76
    VERSIONS = range(1, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: Sequence[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
