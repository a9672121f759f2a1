"""StreamsGroupHeartbeatRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

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


class CopartitionGroup(Message):
    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")
    FIELDS = (
        ("source_topics", "[]int16", "0+", "", -1, ""),
        ("source_topic_regex", "[]int16", "0+", "", -1, ""),
        ("repartition_source_topics", "[]int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        source_topics: Sequence[int] = (),
        source_topic_regex: Sequence[int] = (),
        repartition_source_topics: Sequence[int] = (),
    ) -> None:
        self.source_topics = source_topics
        self.source_topic_regex = source_topic_regex
        self.repartition_source_topics = repartition_source_topics


class Subtopology(Message):
    __slots__ = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
    )
    FIELDS = (
        ("subtopology_id", "string", "0+", "", -1, ""),
        ("source_topics", "[]string", "0+", "", -1, ""),
        ("source_topic_regex", "[]string", "0+", "", -1, ""),
        ("state_changelog_topics", "[]TopicInfo", "0+", "", -1, ""),
        ("repartition_sink_topics", "[]string", "0+", "", -1, ""),
        ("repartition_source_topics", "[]TopicInfo", "0+", "", -1, ""),
        ("copartition_groups", "[]CopartitionGroup", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        source_topic_regex: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_sink_topics: Sequence[str] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
        copartition_groups: Sequence[CopartitionGroup] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = source_topics
        self.source_topic_regex = source_topic_regex
        self.state_changelog_topics = state_changelog_topics
        self.repartition_sink_topics = repartition_sink_topics
        self.repartition_source_topics = repartition_source_topics
        self.copartition_groups = copartition_groups


class Topology(Message):
    __slots__ = ("epoch", "subtopologies")
    FIELDS = (
        ("epoch", "int32", "0+", "", -1, ""),
        ("subtopologies", "[]Subtopology", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


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


class StreamsGroupHeartbeatRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("member_epoch", "int32", "0+", "", -1, ""),
        ("endpoint_information_epoch", "int32", "0+", "", -1, ""),
        ("instance_id", "string", "0+", "0+", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("rebalance_timeout_ms", "int32", "0+", "", -1, ""),
        ("topology", "Topology", "0+", "0+", -1, ""),
        ("active_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("standby_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("warmup_tasks", "[]TaskIds", "0+", "0+", -1, ""),
        ("process_id", "string", "0+", "0+", -1, ""),
        ("user_endpoint", "Endpoint", "0+", "0+", -1, ""),
        ("client_tags", "[]KeyValue", "0+", "0+", -1, ""),
        ("task_offsets", "[]TaskOffset", "0+", "0+", -1, ""),
        ("task_end_offsets", "[]TaskOffset", "0+", "0+", -1, ""),
        ("shutdown_application", "bool", "0+", "", -1, ""),
    )
    API_KEY = 88
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] | None = None,
        task_offsets: Sequence[TaskOffset] | None = None,
        task_end_offsets: Sequence[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
