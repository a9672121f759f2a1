"""UpdateRaftVoterResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class CurrentLeader(Message):
    __slots__ = ("leader_id", "leader_epoch", "host", "port")
    FIELDS = (
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("host", "string", "0+", "", -1, ""),
        ("port", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port


class UpdateRaftVoterResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "current_leader")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("current_leader", "CurrentLeader", "0+", "", 0, "0+"),
    )
    API_KEY = 82
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = current_leader
