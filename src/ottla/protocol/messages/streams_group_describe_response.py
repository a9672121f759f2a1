"""StreamsGroupDescribeResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class KeyValue(Message):
    __slots__ = ("key", "value")
    FIELDS = (
        ("key", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value


class TopicInfo(Message):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "int32", "0+", "", -1, ""),
        ("replication_factor", "int16", "0+", "", -1, ""),
        ("topic_configs", "[]KeyValue", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: Sequence[KeyValue] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = topic_configs


class Subtopology(Message):
    __slots__ = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
    )
    FIELDS = (
        ("subtopology_id", "string", "0+", "", -1, ""),
        ("source_topics", "[]string", "0+", "", -1, ""),
        ("repartition_sink_topics", "[]string", "0+", "", -1, ""),
        ("state_changelog_topics", "[]TopicInfo", "0+", "", -1, ""),
        ("repartition_source_topics", "[]TopicInfo", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        repartition_sink_topics: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = source_topics
        self.repartition_sink_topics = repartition_sink_topics
        self.state_changelog_topics = state_changelog_topics
        self.repartition_source_topics = repartition_source_topics


class Topology(Message):
    __slots__ = ("epoch", "subtopologies")
    FIELDS = (
        ("epoch", "int32", "0+", "", -1, ""),
        ("subtopologies", "[]Subtopology", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] | None = None,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


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


class TaskOffset(Message):
    __slots__ = ("subtopology_id", "partition", "offset")
    FIELDS = (
        ("subtopology_id", "string", "0+", "", -1, ""),
        ("partition", "int32", "0+", "", -1, ""),
        ("offset", "int64", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset


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


class Assignment(Message):
    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")
    FIELDS = (
        ("active_tasks", "[]TaskIds", "0+", "", -1, ""),
        ("standby_tasks", "[]TaskIds", "0+", "", -1, ""),
        ("warmup_tasks", "[]TaskIds", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        active_tasks: Sequence[TaskIds] = (),
        standby_tasks: Sequence[TaskIds] = (),
        warmup_tasks: Sequence[TaskIds] = (),
    ) -> None:
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks


class Member(Message):
    __slots__ = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
    )
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("instance_id", "string", "0+", "0+", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("topology_epoch", "int32", "0+", "", -1, ""),
        ("process_id", "string", "0+", "", -1, ""),
        ("user_endpoint", "Endpoint", "0+", "0+", -1, ""),
        ("client_tags", "[]KeyValue", "0+", "", -1, ""),
        ("task_offsets", "[]TaskOffset", "0+", "", -1, ""),
        ("task_end_offsets", "[]TaskOffset", "0+", "", -1, ""),
        ("assignment", "Assignment", "0+", "", -1, ""),
        ("target_assignment", "Assignment", "0+", "", -1, ""),
        ("is_classic", "bool", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
        task_offsets: Sequence[TaskOffset] = (),
        task_end_offsets: Sequence[TaskOffset] = (),
        assignment: Assignment | None = None,
        target_assignment: Assignment | None = None,
        is_classic: bool = False,
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.assignment = Assignment() if assignment is None else assignment
        self.target_assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic = is_classic


class DescribedGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
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
        ("topology", "Topology", "0+", "0+", -1, ""),
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
        topology: Topology | None = None,
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = members
        self.authorized_operations = authorized_operations


class StreamsGroupDescribeResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("groups", "[]DescribedGroup", "0+", "", -1, ""),
    )
    API_KEY = 89
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
