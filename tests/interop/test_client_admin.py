"""The administrator's calls of our own client against a running server."""

from collections.abc import Callable, Iterator

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record as Sent
from harness.servers import Server
from harness.waiting import eventually
from ottla.client import (
    CommittedOffset,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    IsolationLevel,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicPartition,
    sync,
)
from ottla.client.admin.configs import ConfigSource, ConfigType
from ottla.client.admin.topics import HIGH_WATERMARK
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.uuids import ZERO_UUID


@pytest.fixture
def client(server: Server) -> Iterator[sync.Client]:
    with sync.Client(server.bootstrap) as opened:
        yield opened


@pytest.fixture
def broker_id(client: sync.Client) -> int:
    return client.admin.describe_cluster().brokers[0].node_id


def test_a_topic_lives(client: sync.Client, fresh_name: Callable[[], str], broker_id: int) -> None:
    admin, name = client.admin, fresh_name()
    checked = admin.create_topics([NewTopic(name, 2, 1)], validate_only=True)[name]
    assert checked.error is None
    created = admin.create_topics([NewTopic(name, 2, 1, {"retention.ms": "86400000"})])[name]
    assert (created.error, created.partitions, created.replication_factor) == (None, 2, 1)
    assert created.configs["retention.ms"] == "86400000"
    eventually(lambda: [topic.name for topic in admin.list_topics()], lambda names: name in names)
    described = admin.describe_topics([name])[name]
    assert (described.topic_id, described.replication_factor) == (created.topic_id, 1)
    assert [(row.partition, row.leader_id, row.in_sync) for row in described.partitions] == [
        (0, broker_id, (broker_id,)),
        (1, broker_id, (broker_id,)),
    ]
    assert admin.create_partitions({name: 3}) == {name: None}
    eventually(lambda: len(admin.describe_topics([name])[name].partitions), lambda count: count == 3)
    assert admin.delete_topics([name]) == {name: None}
    eventually(lambda: [topic.name for topic in admin.list_topics()], lambda names: name not in names)


def test_refusals_are_values_beside_what_worked(client: sync.Client, fresh_name: Callable[[], str]) -> None:
    admin, good = client.admin, fresh_name()
    created = admin.create_topics([NewTopic(good, 1), NewTopic("no/name", 1), NewTopic(fresh_name(), 1, 9)])
    codes = {result.error.code if result.error else None for result in created.values()}
    assert codes == {None, ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_REPLICATION_FACTOR}
    again = admin.create_topics([NewTopic(good, 1)])[good].error
    assert again is not None
    assert again.code is ErrorCode.TOPIC_ALREADY_EXISTS
    missing = admin.describe_topics(["nowhere", good])
    assert missing["nowhere"].error is not None
    assert missing[good].error is None
    gone = admin.delete_topics(["nowhere"])["nowhere"]
    assert gone is not None
    assert gone.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fewer = admin.create_partitions({good: 1})[good]
    assert fewer is not None
    assert fewer.code is ErrorCode.INVALID_PARTITIONS


def test_replicas_can_be_named(client: sync.Client, fresh_name: Callable[[], str], broker_id: int) -> None:
    name = fresh_name()
    created = client.admin.create_topics([NewTopic(name, assignments={0: [broker_id], 1: [broker_id]})])[name]
    assert created.error is None
    assert client.admin.create_partitions({name: 3}, assignments={name: [[broker_id]]}) == {name: None}


def test_offsets_are_listed_by_place_and_time(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    times = (1_600_000_000_000, 1_600_000_009_000, 1_600_000_003_000)
    reference.produce(topic, [Sent(b"x", timestamp_ms=time) for time in times])

    def at(place: int, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED) -> tuple[int, int]:
        found = client.admin.list_offsets({partition: place}, isolation=isolation)[partition]
        assert found.error is None
        return found.offset, found.timestamp_ms

    assert at(OffsetSpec.EARLIEST)[0] == 0
    assert at(OffsetSpec.LATEST)[0] == at(OffsetSpec.LATEST, IsolationLevel.READ_COMMITTED)[0] == 3
    assert at(OffsetSpec.MAX_TIMESTAMP) == (1, times[1])
    assert at(times[0] + 1) == (1, times[1])
    assert at(times[1] + 1) == (-1, -1)
    unknown = TopicPartition("nowhere", 0)
    error = client.admin.list_offsets({unknown: OffsetSpec.LATEST})[unknown].error
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_old_records_are_removed(client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    for number in (0, 1):
        reference.produce(topic, [Sent(b"x")] * 5, partition=number)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    removed = client.admin.delete_records({first: 3, second: HIGH_WATERMARK})
    assert [(removed[each].low_watermark, removed[each].error) for each in (first, second)] == [(3, None), (5, None)]
    beyond = client.admin.delete_records({first: 100})[first].error
    assert beyond is not None
    assert beyond.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.admin.list_offsets({first: OffsetSpec.EARLIEST})[first].offset == 3


def test_settings_of_a_topic_change_one_by_one(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(1, {"cleanup.policy": "delete", "retention.ms": "1000"})
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def entry(name: str) -> tuple[str | None, ConfigSource]:
        found = client.admin.describe_configs([resource], names=[name])[resource]
        assert found.error is None
        assert list(found.entries) == [name]
        return found.entries[name].value, found.entries[name].source

    assert entry("retention.ms") == ("1000", ConfigSource.TOPIC)
    changes = [
        ConfigChange("cleanup.policy", "compact", ConfigOperation.APPEND),
        ConfigChange("retention.ms", operation=ConfigOperation.DELETE),
        ConfigChange("segment.ms", "5000"),
    ]
    assert client.admin.alter_configs({resource: changes}, validate_only=True) == {resource: None}
    assert entry("retention.ms")[0] == "1000"
    assert client.admin.alter_configs({resource: changes}) == {resource: None}
    eventually(lambda: entry("cleanup.policy")[0], lambda value: value == "delete,compact")
    assert entry("segment.ms") == ("5000", ConfigSource.TOPIC)
    assert entry("retention.ms")[1] is not ConfigSource.TOPIC
    wrong = client.admin.alter_configs({resource: [ConfigChange("segment.ms", "soon")]})[resource]
    assert wrong is not None
    assert wrong.code is ErrorCode.INVALID_CONFIG
    assert resource in client.admin.list_config_resources([ResourceType.TOPIC])


def test_settings_of_brokers_and_their_loggers_are_told_by_the_broker(client: sync.Client, broker_id: int) -> None:
    admin = client.admin
    broker = ConfigResource(ResourceType.BROKER, str(broker_id))
    found = admin.describe_configs([broker], include_documentation=True)[broker]
    assert found.error is None
    partitions = found.entries["num.partitions"]
    assert (partitions.value, partitions.type, partitions.is_read_only) == ("4", ConfigType.INT, True)
    assert partitions.synonyms[0].source is ConfigSource.STATIC_BROKER
    loggers = ConfigResource(ResourceType.BROKER_LOGGER, str(broker_id))
    name = next(iter(admin.describe_configs([loggers])[loggers].entries))
    assert admin.alter_configs({loggers: [ConfigChange(name, "DEBUG")]}) == {loggers: None}
    assert admin.describe_configs([loggers])[loggers].entries[name].value == "DEBUG"
    nowhere = ConfigResource(ResourceType.BROKER, "4711")
    nonsense = ConfigResource(ResourceType.BROKER, "main")
    errors = [found.error for found in admin.describe_configs([nowhere, nonsense]).values()]
    assert [error.code for error in errors if error] == [ErrorCode.INVALID_REQUEST, ErrorCode.BROKER_NOT_AVAILABLE]


def test_the_default_of_all_brokers_changes(client: sync.Client) -> None:
    everyone = ConfigResource(ResourceType.BROKER, "")
    name = "log.cleaner.threads"
    assert client.admin.alter_configs({everyone: [ConfigChange(name, "2")]}) == {everyone: None}
    eventually(
        lambda: client.admin.describe_configs([everyone])[everyone].entries,
        lambda entries: name in entries and entries[name].value == "2",
    )
    undo = ConfigChange(name, operation=ConfigOperation.DELETE)
    assert client.admin.alter_configs({everyone: [undo]}) == {everyone: None}


def test_groups_and_their_offsets(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    admin, topic, group = client.admin, new_topic(2), fresh_name()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    reference.produce(topic, [Sent(b"x")] * 5)
    assert admin.alter_group_offsets(group, {first: 3, second: CommittedOffset(0, "note")}) == {
        first: None,
        second: None,
    }
    assert reference.committed(group, topic, 0) == 3
    offsets = admin.list_group_offsets(group)
    assert (offsets[first].offset, offsets[second].metadata) == (3, "note")
    assert admin.list_group_offsets(group, [TopicPartition(topic, 0)])[first].offset == 3
    listed = {listing.group_id: listing for listing in admin.list_groups()}
    assert (listed[group].state, listed[group].type.lower()) == ("Empty", "classic")
    assert group in [listing.group_id for listing in admin.list_groups(states=["Empty"], types=["classic"])]
    assert group not in [listing.group_id for listing in admin.list_groups(states=["Stable"])]
    described = admin.describe_groups([group, "nowhere"])
    assert (described[group].state, described[group].error) == ("Empty", None)
    assert described["nowhere"].error is not None
    assert described["nowhere"].error.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert admin.delete_group_offsets(group, [first]) == {first: None}
    assert list(admin.list_group_offsets(group)) == [second]
    deleted = admin.delete_groups([group, "nowhere"])
    assert deleted[group] is None
    assert deleted["nowhere"] is not None
    assert deleted["nowhere"].code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_with_members_keeps_its_offsets(
    client: sync.Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    admin, topic = client.admin, new_topic()
    member = reference.member(topic, topic)
    try:
        eventually(member.assignment)
        described = admin.describe_groups([topic])[topic]
        assert (described.state, described.protocol_type, described.assignor) == ("Stable", "consumer", "range")
        assert [(each.assignment, each.subscription) for each in described.members] == [
            ((TopicPartition(topic, 0),), (topic,))
        ]
        refused = admin.alter_group_offsets(topic, {TopicPartition(topic, 0): 1})[TopicPartition(topic, 0)]
        assert refused is not None
        assert refused.code is ErrorCode.UNKNOWN_MEMBER_ID
        kept = admin.delete_groups([topic])[topic]
        assert kept is not None
        assert kept.code is ErrorCode.NON_EMPTY_GROUP
        subscribed = admin.delete_group_offsets(topic, [TopicPartition(topic, 0)])[TopicPartition(topic, 0)]
        assert subscribed is not None
        assert subscribed.code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        removed = admin.remove_members(topic, member_ids=[described.members[0].member_id])
        assert [each.error for each in removed] == [None]
    finally:
        member.close()


def test_the_cluster_its_quorum_and_features(client: sync.Client, server: Server, broker_id: int) -> None:
    cluster = client.admin.describe_cluster(include_fenced=True)
    assert [str(broker.address) for broker in cluster.brokers] == [server.bootstrap]
    assert cluster.cluster_id
    quorum = client.admin.describe_quorum()
    assert (quorum.leader_id, [voter.replica_id for voter in quorum.voters]) == (broker_id, [broker_id])
    assert quorum.high_watermark > 0
    features = {feature.name: feature for feature in client.admin.describe_features()}
    assert features["metadata.version"].finalized >= 1
    (versions,) = client.admin.broker_versions().values()
    assert not isinstance(versions, Exception)
    assert versions.ranges[ApiKey.METADATA][1] >= MetadataRequest.VERSIONS.stop - 1


def test_log_directories(client: sync.Client, broker_id: int, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    (directory,) = client.admin.describe_log_dirs([broker_id], partitions=[partition])[broker_id]
    assert directory.error is None
    assert list(directory.replicas) == [partition]
    assert directory.total_bytes > directory.usable_bytes > 0
    assert len(client.admin.describe_log_dirs()[broker_id][0].replicas) >= 1
    assert client.admin.alter_replica_log_dirs({partition: directory.path}, broker_id=broker_id) == {partition: None}
    wrong = client.admin.alter_replica_log_dirs({partition: "/nowhere"}, broker_id=broker_id)[partition]
    assert wrong is not None
    assert wrong.code is ErrorCode.LOG_DIR_NOT_FOUND


def test_topic_ids_are_told(client: sync.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    listed = {listing.name: listing.topic_id for listing in client.admin.list_topics(include_internal=True)}
    assert listed[topic] != ZERO_UUID
