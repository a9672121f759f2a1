"""Creates and deletes topics, and adds partitions.

Each row of a request succeeds or fails alone; the results come in the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ottla.metadata.controller.partitions import new_partition
from ottla.metadata.controller.placement import place_replicas
from ottla.metadata.controller.replica_assignment import check_assignment, check_manual_partitions
from ottla.metadata.controller.topic_names import CLUSTER_METADATA_TOPIC, check_topic_name
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ResourceType, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.create_partitions_request import CreatePartitionsTopic
from ottla.protocol.messages.create_partitions_response import CreatePartitionsTopicResult
from ottla.protocol.messages.create_topics_request import CreatableTopic
from ottla.protocol.messages.create_topics_response import CreatableTopicResult
from ottla.protocol.messages.delete_topics_request import DeleteTopicState
from ottla.protocol.messages.delete_topics_response import DeletableTopicResult
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID, uuid_to_text

USE_DEFAULT = -1
# Kafka's bound on the partitions that one request may create.
MAX_PARTITIONS_PER_REQUEST = 10_000

# Raises ApiError INVALID_CONFIG for configs that a topic of this name cannot have.
ConfigCheck = Callable[[str, Mapping[str, str]], None]


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """num.partitions and default.replication.factor."""

    partition_count: int = 1
    replication_factor: int = 1


def create_topics(
    image: ClusterImage,
    topics: Sequence[CreatableTopic],
    *,
    defaults: TopicDefaults,
    check_configs: ConfigCheck,
    new_id: Callable[[], bytes],
    pick: Callable[[int], int],
    validate_only: bool = False,
) -> Decision[list[CreatableTopicResult]]:
    counts = Counter(topic.name for topic in topics)
    records: list[Message] = []
    results: list[CreatableTopicResult] = []
    claimed: dict[str, str] = {}
    created_partitions = 0
    for topic in topics:
        try:
            if counts[topic.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once")
            _check_new_name(image, topic.name, claimed)
            assignments = _assignments(image, topic, defaults, pick)
            created_partitions += len(assignments)
            if created_partitions > MAX_PARTITIONS_PER_REQUEST:
                raise ApiError(
                    ErrorCode.POLICY_VIOLATION,
                    f"One request can create at most {MAX_PARTITIONS_PER_REQUEST} partitions",
                )
            configs = _configs(topic)
            check_configs(topic.name, configs)
            topic_id = new_id()
            records += _topic_records(image, topic.name, topic_id, configs, assignments)
        except ApiError as error:
            results.append(_failed_creation(topic.name, error))
            continue
        claimed[topic.name.replace(".", "_")] = topic.name
        results.append(
            CreatableTopicResult(
                name=topic.name,
                topic_id=ZERO_UUID if validate_only else topic_id,
                error_message=None,
                num_partitions=len(assignments),
                replication_factor=len(assignments[0]),
            )
        )
    return Decision([] if validate_only else records, results)


def delete_topics(
    image: ClusterImage, topics: Sequence[DeleteTopicState], *, is_enabled: bool
) -> Decision[list[DeletableTopicResult]]:
    """`is_enabled` is delete.topic.enable."""
    counts = Counter(_identity(image, topic) for topic in topics)
    records: list[Message] = []
    results: list[DeletableTopicResult] = []
    for topic in topics:
        try:
            if not is_enabled:
                raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled (delete.topic.enable)")
            if counts[_identity(image, topic)] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "The topic is named more than once")
            found = _existing(image, topic)
            records.append(RemoveTopicRecord(topic_id=found.id))
            results.append(DeletableTopicResult(name=found.name, topic_id=found.id, error_message=None))
        except ApiError as error:
            results.append(
                DeletableTopicResult(
                    name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=error.message
                )
            )
    return Decision(records, results)


def create_partitions(
    image: ClusterImage,
    topics: Sequence[CreatePartitionsTopic],
    *,
    pick: Callable[[int], int],
    validate_only: bool = False,
) -> Decision[list[CreatePartitionsTopicResult]]:
    counts = Counter(topic.name for topic in topics)
    records: list[Message] = []
    results: list[CreatePartitionsTopicResult] = []
    for topic in topics:
        code, message = ErrorCode.NONE, None
        try:
            if counts[topic.name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {topic.name!r} is named more than once")
            records += _added_partitions(image, topic, pick)
        except ApiError as error:
            code, message = error.code, error.message
        results.append(CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message))
    return Decision([] if validate_only else records, results)


def _check_new_name(image: ClusterImage, name: str, claimed: Mapping[str, str]) -> None:
    """`claimed` holds the topics that the same request creates, by their names in metrics."""
    check_topic_name(name)
    if name == CLUSTER_METADATA_TOPIC:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Topic {name} is reserved for the metadata log")
    if image.topics.by_name(name) is not None:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic {name!r} already exists.")
    in_request = claimed.get(name.replace(".", "_"))
    clashes = sorted(image.topics.clashes_of(name)) + ([in_request] if in_request else [])
    if clashes:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic {name!r} collides with existing topic: {', '.join(clashes)} ('.' and '_' are the same in metrics)",
        )


def _assignments(
    image: ClusterImage, topic: CreatableTopic, defaults: TopicDefaults, pick: Callable[[int], int]
) -> list[tuple[int, ...]]:
    if topic.assignments:
        return _manual_assignments(image, topic)
    if topic.num_partitions < 1 and topic.num_partitions != USE_DEFAULT:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be positive, got {topic.num_partitions}"
        )
    if topic.replication_factor < 1 and topic.replication_factor != USE_DEFAULT:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor must be larger than 0, or -1 to use the default value, not {topic.replication_factor}",
        )
    uses_default_count = topic.num_partitions == USE_DEFAULT
    uses_default_factor = topic.replication_factor == USE_DEFAULT
    partition_count = defaults.partition_count if uses_default_count else topic.num_partitions
    if partition_count > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"{partition_count} partitions are more than one request can create ({MAX_PARTITIONS_PER_REQUEST})",
        )
    return place_replicas(
        image.brokers,
        partition_count=partition_count,
        replication_factor=defaults.replication_factor if uses_default_factor else topic.replication_factor,
        pick=pick,
    )


def _manual_assignments(image: ClusterImage, topic: CreatableTopic) -> list[tuple[int, ...]]:
    if topic.num_partitions != USE_DEFAULT or topic.replication_factor != USE_DEFAULT:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "With a manual replica assignment, the number of partitions and the replication factor must be -1",
        )
    by_partition = {row.partition_index: tuple(row.broker_ids) for row in topic.assignments}
    check_manual_partitions([row.partition_index for row in topic.assignments])
    assignments = [by_partition[partition] for partition in range(len(by_partition))]
    for partition, replicas in enumerate(assignments):
        check_assignment(image.brokers, partition, replicas, len(assignments[0]))
    return assignments


def _configs(topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Topic config {config.name!r} needs a value, got null")
        configs[config.name] = config.value
    return configs


def _topic_records(
    image: ClusterImage,
    name: str,
    topic_id: bytes,
    configs: Mapping[str, str],
    assignments: Sequence[tuple[int, ...]],
) -> list[Message]:
    records: list[Message] = [TopicRecord(name=name, topic_id=topic_id)]
    records += [
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=name, name=key, value=configs[key])
        for key in sorted(configs)
    ]
    records += [
        new_partition(image.brokers, topic_id, partition, replicas) for partition, replicas in enumerate(assignments)
    ]
    return records


def _added_partitions(image: ClusterImage, request: CreatePartitionsTopic, pick: Callable[[int], int]) -> list[Message]:
    topic = image.topics.by_name(request.name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {request.name!r} does not exist")
    current = len(topic.partitions)
    if request.count == current:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
    if request.count < current:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {request.name} currently has {current} partition(s); {request.count} would not be an increase.",
        )
    added = request.count - current
    if added > MAX_PARTITIONS_PER_REQUEST:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION,
            f"{added} partitions are more than one request can add ({MAX_PARTITIONS_PER_REQUEST})",
        )
    factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        assignments = place_replicas(image.brokers, partition_count=added, replication_factor=factor, pick=pick)
    else:
        assignments = [tuple(row.broker_ids) for row in request.assignments]
        if len(assignments) != added:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{added} partition(s) are to be added, but {len(assignments)} assignment(s) were given",
            )
        for offset, replicas in enumerate(assignments):
            check_assignment(image.brokers, current + offset, replicas, factor)
    return [
        new_partition(image.brokers, topic.id, current + offset, replicas)
        for offset, replicas in enumerate(assignments)
    ]


def _failed_creation(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=error.code, error_message=error.message, num_partitions=-1, replication_factor=-1
    )


def _identity(image: ClusterImage, topic: DeleteTopicState) -> bytes | str | None:
    """One key for a topic, whether the row names it or gives its id."""
    if topic.name is None:
        return topic.topic_id
    found = image.topics.by_name(topic.name)
    return found.id if found else topic.name


def _existing(image: ClusterImage, topic: DeleteTopicState) -> TopicImage:
    if topic.name is not None and topic.topic_id != ZERO_UUID:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Name the topic or give its id, not both")
    if topic.name is not None:
        found = image.topics.by_name(topic.name)
        if found is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic.name!r} does not exist")
        return found
    if topic.topic_id == ZERO_UUID:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Give the name or the id of the topic")
    found = image.topics.by_id(topic.topic_id)
    if found is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"No topic has the id {uuid_to_text(topic.topic_id)}")
    return found
