from collections.abc import Mapping

import pytest

from ottla.metadata.controller import topics
from ottla.metadata.controller.topics import MAX_PARTITIONS_PER_REQUEST, TopicDefaults
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.create_partitions_request import CreatePartitionsAssignment, CreatePartitionsTopic
from ottla.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from ottla.protocol.messages.create_topics_response import CreatableTopicResult
from ottla.protocol.messages.delete_topics_request import DeleteTopicState
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.uuids import ZERO_UUID
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

DEFAULTS = TopicDefaults(partition_count=4, replication_factor=1)


def refuse_bad(name: str, configs: Mapping[str, str]) -> None:
    if "bad" in configs:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"no such config for {name}")


def create(
    image: ClusterImage,
    *rows: CreatableTopic,
    defaults: TopicDefaults = DEFAULTS,
    validate_only: bool = False,
) -> Decision[list[CreatableTopicResult]]:
    numbers = iter(range(1, 1000))
    return topics.create_topics(
        image,
        rows,
        defaults=defaults,
        check_configs=refuse_bad,
        new_id=lambda: topic_id(next(numbers)),
        pick=lambda bound: 0,
        validate_only=validate_only,
    )


def topic(name: str = "t", partitions: int = -1, factor: int = -1, **fields: object) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, **fields)


def manual(*rows: tuple[int, tuple[int, ...]]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in rows]


def code(decision: Decision[list[CreatableTopicResult]]) -> ErrorCode:
    (result,) = decision.response
    assert (result.error_message is None) == (result.error_code == 0)
    if result.error_code:
        assert not decision.records
    return ErrorCode(result.error_code)


def test_a_topic_is_a_record_its_configs_and_a_record_per_partition() -> None:
    configs = [CreatableTopicConfig(name="retention.ms", value="5")]
    decision = create(cluster(1), topic(partitions=2, factor=1, configs=configs))
    assert [type(record) for record in decision.records] == [
        TopicRecord,
        ConfigRecord,
        PartitionRecord,
        PartitionRecord,
    ]
    assert decision.records[3] == PartitionRecord(
        partition_id=1,
        topic_id=topic_id(1),
        replicas=(1,),
        isr=(1,),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=(directory(1),),
    )
    (result,) = decision.response
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (topic_id(1), 2, 1)


def test_defaults_stand_in_for_minus_one() -> None:
    (result,) = create(cluster(1, 2), topic(), defaults=TopicDefaults(3, 2)).response
    assert (result.num_partitions, result.replication_factor) == (3, 2)


def test_validation_alone_writes_nothing_and_gives_no_id() -> None:
    decision = create(cluster(1), topic(partitions=2), validate_only=True)
    assert not decision.records
    assert (decision.response[0].topic_id, decision.response[0].num_partitions) == (ZERO_UUID, 2)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\0", "x" * 250])
def test_names_that_cannot_be_are_refused(name: str) -> None:
    assert code(create(cluster(1), topic(name))) is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_names_that_can_be_are_taken(name: str) -> None:
    assert code(create(cluster(1), topic(name))) is ErrorCode.NONE


def test_a_name_is_taken_once() -> None:
    image = with_topic(cluster(1), "t", (1,))
    assert code(create(image, topic("t"))) is ErrorCode.TOPIC_ALREADY_EXISTS


def test_dot_and_underscore_collide() -> None:
    image = with_topic(cluster(1), "a.b", (1,))
    decision = create(image, topic("a_b"))
    assert code(decision) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "collides with existing topic: a.b" in (decision.response[0].error_message or "")


def test_dot_and_underscore_collide_within_a_request() -> None:
    results = create(cluster(1), topic("a.b"), topic("a_b")).response
    assert [result.error_code for result in results] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_the_metadata_log_is_not_to_be_had() -> None:
    assert code(create(cluster(1), topic("__cluster_metadata"))) is ErrorCode.INVALID_REQUEST


def test_a_repeated_name_fails_in_every_row_and_others_succeed() -> None:
    decision = create(cluster(1), topic("a"), topic("b"), topic("a"))
    codes = [result.error_code for result in decision.response]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert [record.name for record in decision.records if isinstance(record, TopicRecord)] == ["b"]


@pytest.mark.parametrize("partitions", [0, -2])
def test_partitions_must_be_positive(partitions: int) -> None:
    assert code(create(cluster(1), topic(partitions=partitions))) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("factor", [0, -2, 3])
def test_the_replication_factor_is_between_one_and_the_brokers(factor: int) -> None:
    assert code(create(cluster(1, 2), topic(factor=factor))) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_without_a_live_broker_nothing_is_created() -> None:
    assert code(create(cluster(1, fenced=[1]), topic())) is ErrorCode.INVALID_REPLICATION_FACTOR
    assert code(create(ClusterImage(), topic())) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_fenced_replica_is_no_leader_and_not_in_sync() -> None:
    decision = create(cluster(1, 2, fenced=[1]), topic(partitions=1, factor=2))
    record = decision.records[-1]
    assert isinstance(record, PartitionRecord)
    assert (sorted(record.replicas), record.isr, record.leader) == ([1, 2], (2,), 2)


def test_configs_are_checked() -> None:
    bad = topic(configs=[CreatableTopicConfig(name="bad", value="1")])
    assert code(create(cluster(1), bad)) is ErrorCode.INVALID_CONFIG
    null = topic(configs=[CreatableTopicConfig(name="retention.ms", value=None)])
    assert code(create(cluster(1), null)) is ErrorCode.INVALID_CONFIG


def test_one_request_cannot_create_endless_partitions() -> None:
    assert code(create(cluster(1), topic(partitions=MAX_PARTITIONS_PER_REQUEST + 1))) is ErrorCode.POLICY_VIOLATION
    half = MAX_PARTITIONS_PER_REQUEST // 2 + 1
    results = create(cluster(1), topic("a", half), topic("b", half)).response
    assert [result.error_code for result in results] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]


def test_a_manual_assignment_is_taken_as_it_is() -> None:
    decision = create(cluster(1, 2, 3), topic(assignments=manual((1, (3, 1)), (0, (2, 3)))))
    partitions = [record for record in decision.records if isinstance(record, PartitionRecord)]
    assert [(p.partition_id, p.replicas, p.leader) for p in partitions] == [(0, (2, 3), 2), (1, (3, 1), 3)]


@pytest.mark.parametrize(
    "rows",
    [
        manual((0, ())),
        manual((0, (1, 1))),
        manual((0, (9,))),
        manual((0, (1,)), (2, (1,))),
        manual((0, (1,)), (0, (2,))),
        manual((1, (1,))),
        manual((0, (1, 2)), (1, (1,))),
        manual((0, (3,))),
    ],
)
def test_a_manual_assignment_that_makes_no_sense_is_refused(rows: list[CreatableReplicaAssignment]) -> None:
    decision = create(cluster(1, 2, 3, fenced=[3]), topic(assignments=rows))
    assert code(decision) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(("partitions", "factor"), [(1, -1), (-1, 1)])
def test_a_manual_assignment_goes_without_counts(partitions: int, factor: int) -> None:
    row = topic(partitions=partitions, factor=factor, assignments=manual((0, (1,))))
    assert code(create(cluster(1), row)) is ErrorCode.INVALID_REQUEST


class TestDelete:
    image = with_topic(with_topic(cluster(1), "a", (1,), number=1), "b", (1,), number=2)

    def delete(self, *rows: DeleteTopicState, is_enabled: bool = True):
        return topics.delete_topics(self.image, rows, is_enabled=is_enabled)

    def test_by_name_and_by_id(self) -> None:
        decision = self.delete(DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id(2)))
        assert [(r.name, r.topic_id, r.error_code) for r in decision.response] == [
            ("a", topic_id(1), 0),
            ("b", topic_id(2), 0),
        ]
        assert len(applied(self.image, decision).topics) == 0

    @pytest.mark.parametrize(
        ("row", "error"),
        [
            (DeleteTopicState(name="x"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (DeleteTopicState(name=None, topic_id=topic_id(9)), ErrorCode.UNKNOWN_TOPIC_ID),
            (DeleteTopicState(name=None), ErrorCode.INVALID_REQUEST),
            (DeleteTopicState(name="a", topic_id=topic_id(1)), ErrorCode.INVALID_REQUEST),
        ],
    )
    def test_a_topic_that_is_not_clearly_named_fails_alone(self, row: DeleteTopicState, error: ErrorCode) -> None:
        decision = self.delete(row, DeleteTopicState(name="b"))
        assert [result.error_code for result in decision.response] == [error, ErrorCode.NONE]
        assert len(decision.records) == 1

    def test_one_topic_named_in_two_ways_is_a_mistake(self) -> None:
        decision = self.delete(DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id(1)))
        assert {result.error_code for result in decision.response} == {ErrorCode.INVALID_REQUEST}

    def test_deletion_can_be_switched_off(self) -> None:
        decision = self.delete(DeleteTopicState(name="a"), is_enabled=False)
        assert decision.response[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
        assert not decision.records


class TestCreatePartitions:
    image = with_topic(cluster(1, 2, 3), "t", (1, 2), (2, 3), (3, 1))

    def add(self, *rows: CreatePartitionsTopic, validate_only: bool = False):
        return topics.create_partitions(self.image, rows, pick=lambda bound: 0, validate_only=validate_only)

    def test_new_partitions_continue_the_numbers_with_the_same_replication_factor(self) -> None:
        decision = self.add(CreatePartitionsTopic(name="t", count=5, assignments=None))
        assert [record.partition_id for record in decision.records] == [3, 4]
        assert {len(record.replicas) for record in decision.records} == {2}

    def test_assignments_can_be_given(self) -> None:
        rows = [CreatePartitionsAssignment(broker_ids=[3, 2])]
        decision = self.add(CreatePartitionsTopic(name="t", count=4, assignments=rows))
        assert [record.replicas for record in decision.records] == [(3, 2)]

    @pytest.mark.parametrize(
        ("row", "error"),
        [
            (CreatePartitionsTopic(name="t", count=3, assignments=None), ErrorCode.INVALID_PARTITIONS),
            (CreatePartitionsTopic(name="t", count=2, assignments=None), ErrorCode.INVALID_PARTITIONS),
            (CreatePartitionsTopic(name="t", count=0, assignments=None), ErrorCode.INVALID_PARTITIONS),
            (CreatePartitionsTopic(name="x", count=5, assignments=None), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (CreatePartitionsTopic(name="t", count=99_999, assignments=None), ErrorCode.POLICY_VIOLATION),
            (
                CreatePartitionsTopic(name="t", count=5, assignments=[CreatePartitionsAssignment(broker_ids=[1, 2])]),
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            ),
            (
                CreatePartitionsTopic(name="t", count=4, assignments=[CreatePartitionsAssignment(broker_ids=[1])]),
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            ),
        ],
    )
    def test_mistakes_are_named(self, row: CreatePartitionsTopic, error: ErrorCode) -> None:
        decision = self.add(row)
        assert decision.response[0].error_code == error
        assert decision.response[0].error_message
        assert not decision.records

    def test_the_message_tells_how_many_there_are(self) -> None:
        equal = self.add(CreatePartitionsTopic(name="t", count=3, assignments=None)).response[0].error_message
        fewer = self.add(CreatePartitionsTopic(name="t", count=2, assignments=None)).response[0].error_message
        assert equal == "Topic already has 3 partition(s)."
        assert fewer == "The topic t currently has 3 partition(s); 2 would not be an increase."

    def test_validation_alone_writes_nothing(self) -> None:
        decision = self.add(CreatePartitionsTopic(name="t", count=5, assignments=None), validate_only=True)
        assert not decision.records
        assert decision.response[0].error_code == 0

    def test_a_repeated_topic_fails_in_every_row(self) -> None:
        row = CreatePartitionsTopic(name="t", count=5, assignments=None)
        assert {r.error_code for r in self.add(row, row).response} == {ErrorCode.INVALID_REQUEST}
