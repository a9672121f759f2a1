"""StreamsGroupHeartbeatResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class Status(Message):
    __slots__ = ("status_code", "status_detail")
    FIELDS = (
        ("status_code", "int8", "0+", "", -1, ""),
        ("status_detail", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        status_code: int = 0,
        status_detail: str = "",
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail


class TaskIds(Message):
    __slots__ = ("subtopology_id", "partitions")
    FIELDS = (
        ("subtopology_id", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = partitions


class Endpoint(Message):
    __slots__ = ("host", "port")
    FIELDS = (
        ("host", "string", "0+", "", -1, ""),
        ("port", "uint16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port


class TopicPartition(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class EndpointToPartitions(Message):
    __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")
    FIELDS = (
        ("user_endpoint", "Endpoint", "0+", "", -1, ""),
        ("active_partitions", "[]TopicPartition", "0+", "", -1, ""),
        ("standby_partitions", "[]TopicPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        user_endpoint: Endpoint | None = None,
        active_partitions: Sequence[TopicPartition] = (),
        standby_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.user_endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions = active_partitions
        self.standby_partitions = standby_partitions


class StreamsGroupHeartbeatResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("heartbeat_interval_ms", "int32", "0+", "", -1, ""),
        ("acceptable_recovery_lag", "int32", "0+", "", -1, ""),
        ("task_offset_interval_ms", "int32", "0+", "", -1, ""),
        ("status", "[]Status", "0+", "0+", -1, ""),
        ("active_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("standby_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("warmup_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("endpoint_information_epoch", "int32", "0+", "", -1, ""),
        ("partitions_by_user_endpoint", "[]EndpointToPartitions", "0+", "0+", -1, ""),
    )
    API_KEY = 88
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: Sequence[Status] | None = (),
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
