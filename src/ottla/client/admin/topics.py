"""Topics: list, describe, create, delete, more partitions, and the removal of old records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of
from ottla.client.fanout import ask_leaders, by_topic
from ottla.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.protocol.messages.create_partitions_response import CreatePartitionsResponse
from ottla.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.messages.delete_records_response import DeleteRecordsResponse
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.delete_topics_response import DeleteTopicsResponse
from ottla.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from ottla.protocol.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import ZERO_UUID

# DeleteRecords up to the end of the partition.
HIGH_WATERMARK = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; -1 leaves a number to the broker, assignments name the replicas of each partition."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """The outcome of creating a NewTopic, with the numbers and settings that the broker chose."""

    name: str
    topic_id: bytes = ZERO_UUID
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] = field(default_factory=dict)
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class TopicListing:
    """A topic's name and id."""

    name: str
    topic_id: bytes
    is_internal: bool


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """Who holds a partition; the eligible leader replicas are None if the broker does not name them."""

    partition: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...] = ()
    eligible_leaders: tuple[int, ...] | None = None
    last_known_eligible_leaders: tuple[int, ...] | None = None
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions in order."""

    name: str
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: tuple[PartitionDescription, ...] = ()
    error: KafkaError | None = None

    @property
    def replication_factor(self) -> int:
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class DeletedRecords:
    """Where a partition begins after the removal."""

    low_watermark: int
    error: KafkaError | None = None


class TopicCalls(AdminCalls):
    """The calls about topics."""

    async def list_topics(self, *, include_internal: bool = False) -> tuple[TopicListing, ...]:
        """All topics by name."""

        async def ask(connection: Connection) -> MetadataResponse:
            request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
            return await connection.request(request, MetadataResponse)

        response = await self._at_any("listing topics", ask)
        listed = (TopicListing(row.name or "", bytes(row.topic_id), row.is_internal) for row in response.topics)
        wanted = (topic for topic in listed if include_internal or not topic.is_internal)
        return tuple(sorted(wanted, key=lambda topic: topic.name))

    async def describe_topics(
        self, names: Iterable[str] | None = None, *, partitions_per_response: int = 2000
    ) -> dict[str, TopicDescription]:
        """Topics with their partitions; None is all of them. A long list comes in several responses."""
        if names is None:
            names = [topic.name for topic in await self.list_topics(include_internal=True)]
        wanted = list(dict.fromkeys(names))

        async def ask(connection: Connection) -> dict[str, TopicDescription]:
            if connection.versions.serves(DescribeTopicPartitionsRequest):
                return await _describe_by_pages(connection, wanted, partitions_per_response)
            rows = [MetadataRequestTopic(name=name) for name in wanted]
            request = MetadataRequest(topics=rows, allow_auto_topic_creation=False)
            response = await connection.request(request, MetadataResponse)
            return {row.name or "": _describe(row, _partitions(row.partitions)) for row in response.topics}

        found = await self._at_any("describing topics", ask) if wanted else {}
        return {name: found[name] for name in wanted if name in found}

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False, timeout_ms: int | None = None
    ) -> dict[str, CreatedTopic]:
        """Create topics, or only check that it would work."""
        allowed_ms = self._allowed_ms(timeout_ms)
        wanted = list(topics)
        for topic in wanted:
            if not isinstance(topic, NewTopic):
                raise TypeError(f"create_topics takes NewTopic objects: write NewTopic({topic!r})")
        rows = [_creatable(topic) for topic in wanted]

        async def ask(connection: Connection) -> dict[str, CreatedTopic]:
            request = CreateTopicsRequest(topics=rows, timeout_ms=allowed_ms, validate_only=validate_only)
            response = await connection.request(request, CreateTopicsResponse, timeout_ms=_longer(allowed_ms))
            created = {}
            for row in response.topics:
                error = error_of(row.error_code, row.error_message)
                raise_if_moved(error)
                configs = {config.name: config.value for config in row.configs or ()}
                created[row.name] = CreatedTopic(
                    row.name, bytes(row.topic_id), row.num_partitions, row.replication_factor, configs, error
                )
            return created

        return await self._at_controller("creating topics", ask, _longer(allowed_ms))

    async def delete_topics(
        self, names: Iterable[str], *, timeout_ms: int | None = None
    ) -> dict[str, KafkaError | None]:
        """Delete topics; returns the error of each."""
        allowed_ms = self._allowed_ms(timeout_ms)
        wanted = list(dict.fromkeys(names))

        async def ask(connection: Connection) -> dict[str, KafkaError | None]:
            states = [DeleteTopicState(name=name) for name in wanted]
            request = DeleteTopicsRequest(topics=states, topic_names=wanted, timeout_ms=allowed_ms)
            response = await connection.request(request, DeleteTopicsResponse, timeout_ms=_longer(allowed_ms))
            errors = {row.name or "": error_of(row.error_code, row.error_message) for row in response.responses}
            for name, error in errors.items():
                raise_if_moved(error)
                if error is None:
                    self._cluster.metadata.forget_topic(name)
            return errors

        return await self._at_controller("deleting topics", ask, _longer(allowed_ms))

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[str, KafkaError | None]:
        """Increase the partitions of topics to these numbers; assignments name the replicas of each new one."""
        allowed_ms = self._allowed_ms(timeout_ms)
        given = assignments or {}
        rows = [
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=[CreatePartitionsAssignment(broker_ids=ids) for ids in given[name]]
                if name in given
                else None,
            )
            for name, count in counts.items()
        ]

        async def ask(connection: Connection) -> dict[str, KafkaError | None]:
            request = CreatePartitionsRequest(topics=rows, timeout_ms=allowed_ms, validate_only=validate_only)
            response = await connection.request(request, CreatePartitionsResponse, timeout_ms=_longer(allowed_ms))
            errors = {row.name: error_of(row.error_code, row.error_message) for row in response.results}
            for error in errors.values():
                raise_if_moved(error)
            return errors

        return await self._at_controller("creating partitions", ask, _longer(allowed_ms))

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, DeletedRecords]:
        """Remove the records before an offset from each partition; HIGH_WATERMARK (-1) removes all."""
        allowed_ms = self._allowed_ms(timeout_ms)

        async def ask(
            connection: Connection, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, DeletedRecords | KafkaError]:
            topics = [
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=number, offset=before[TopicPartition(topic, number)])
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(partitions).items()
            ]
            request = DeleteRecordsRequest(topics=topics, timeout_ms=allowed_ms)
            response = await connection.request(request, DeleteRecordsResponse, timeout_ms=_longer(allowed_ms))
            return {
                TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
                or DeletedRecords(row.low_watermark)
                for topic in response.topics
                for row in topic.partitions
            }

        answers = await ask_leaders(self._cluster, before, ask)
        return {
            partition: DeletedRecords(-1, answer) if isinstance(answer, KafkaError) else answer
            for partition, answer in answers.items()
        }


def _longer(timeout_ms: int) -> float:
    """The time that the broker may take, and some more for the network."""
    return timeout_ms + 5_000


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=list(ids))
        for number, ids in sorted(topic.assignments.items())
    ]
    return CreatableTopic(
        name=topic.name,
        # With an explicit assignment the protocol wants both numbers to be -1.
        num_partitions=-1 if assignments else topic.partitions,
        replication_factor=-1 if assignments else topic.replication_factor,
        assignments=assignments,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


async def _describe_by_pages(
    connection: Connection, names: list[str], page_partitions: int
) -> dict[str, TopicDescription]:
    """Ask page by page: an answer holds a limited number of partitions, and a cursor where the next one begins."""
    found: dict[str, TopicDescription] = {}
    cursor: Cursor | None = None
    while True:
        topics = [TopicRequest(name=name) for name in names]
        request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=page_partitions, cursor=cursor)
        response = await connection.request(request, DescribeTopicPartitionsResponse)
        for row in response.topics:
            name = row.name or ""
            earlier = found[name].partitions if name in found else ()
            found[name] = _describe(row, earlier + _partitions(row.partitions))
        if response.next_cursor is None:
            return found
        cursor = Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )


def _describe(
    row: MetadataResponseTopic | DescribeTopicPartitionsResponseTopic, partitions: tuple[PartitionDescription, ...]
) -> TopicDescription:
    error = error_of(row.error_code)
    return TopicDescription(row.name or "", bytes(row.topic_id), row.is_internal, partitions, error)


def _partitions(
    rows: Iterable[MetadataResponsePartition | DescribeTopicPartitionsResponsePartition],
) -> tuple[PartitionDescription, ...]:
    return tuple(
        PartitionDescription(
            row.partition_index,
            row.leader_id,
            row.leader_epoch,
            tuple(row.replica_nodes),
            tuple(row.isr_nodes),
            tuple(row.offline_replicas),
            *_eligible(row),
            error=error_of(row.error_code),
        )
        for row in sorted(rows, key=lambda row: row.partition_index)
    )


def _eligible(
    row: MetadataResponsePartition | DescribeTopicPartitionsResponsePartition,
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    if isinstance(row, MetadataResponsePartition):
        return None, None
    return _ids(row.eligible_leader_replicas), _ids(row.last_known_elr)


def _ids(ids: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(ids)
