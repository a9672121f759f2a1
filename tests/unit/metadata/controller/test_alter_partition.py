import pytest

from ottla.metadata.controller.alter_partition import alter_partition
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.image import ClusterImage, PartitionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from ottla.protocol.messages.alter_partition_response import PartitionData as Answered
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_topic

# Broker 3 is not in sync.
IMAGE = applied(
    with_topic(cluster(1, 2, 3), "t", (1, 2, 3)),
    [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, isr=(1, 2))],
)


def asked(*isr: int, broker_epochs: dict[int, int] | None = None, **fields: int) -> PartitionData:
    given = {"partition_index": 0, "leader_epoch": 0, "partition_epoch": 1} | fields
    epochs = broker_epochs or {}
    rows = [BrokerState(broker_id=i, broker_epoch=epochs.get(i, 1000 + i)) for i in isr]
    return PartitionData(new_isr=isr, new_isr_with_epochs=rows, **given)


def alter(
    image: ClusterImage, *rows: PartitionData, broker_id: int = 1, topic: bytes = topic_id(1), version: int = 3
) -> tuple[list[Answered], ClusterImage]:
    request = AlterPartitionRequest(
        broker_id=broker_id, broker_epoch=1000 + broker_id, topics=[TopicData(topic_id=topic, partitions=rows)]
    )
    decision = alter_partition(image, request, api_version=version, rules=ElectionRules())
    (answered,) = decision.response.topics
    return list(answered.partitions), applied(image, decision)


def error(image: ClusterImage, row: PartitionData, broker_id: int = 1, topic: bytes = topic_id(1)) -> ErrorCode:
    """The refusal, which must leave the cluster as it is."""
    (answer,), after = alter(image, row, broker_id=broker_id, topic=topic)
    assert after == image
    return ErrorCode(answer.error_code)


def state(image: ClusterImage) -> PartitionState:
    found = image.topics.partition(topic_id(1), 0)
    assert found is not None
    return found


def test_a_leader_adds_a_replica_and_learns_the_new_partition_epoch() -> None:
    (answer,), after = alter(IMAGE, asked(1, 2, 3))
    assert (answer.error_code, tuple(answer.isr), answer.partition_epoch) == (ErrorCode.NONE, (1, 2, 3), 2)
    assert (answer.leader_id, answer.leader_epoch) == (1, 0)
    assert (state(after).isr, state(after).leader_epoch, state(after).partition_epoch) == ((1, 2, 3), 0, 2)


def test_a_leader_removes_a_replica_without_a_new_leader_epoch() -> None:
    _, after = alter(IMAGE, asked(1))
    assert (state(after).isr, state(after).leader, state(after).leader_epoch) == ((1,), 1, 0)


def test_the_same_set_again_changes_nothing() -> None:
    (answer,), after = alter(IMAGE, asked(1, 2))
    assert after == IMAGE
    assert (answer.error_code, answer.partition_epoch) == (ErrorCode.NONE, 1)


def test_version_2_names_replicas_without_their_broker_epochs() -> None:
    row = PartitionData(partition_index=0, partition_epoch=1, new_isr=(1, 2, 3))
    _, after = alter(IMAGE, row, version=2)
    assert state(after).isr == (1, 2, 3)


def test_an_unknown_topic_or_partition_is_refused() -> None:
    assert error(IMAGE, asked(1), topic=topic_id(9)) is ErrorCode.UNKNOWN_TOPIC_ID
    assert error(IMAGE, asked(1, partition_index=7)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_leader_that_knows_a_newer_epoch_is_sent_to_the_newer_controller() -> None:
    assert error(IMAGE, asked(1, leader_epoch=1)) is ErrorCode.NOT_CONTROLLER
    assert error(IMAGE, asked(1, partition_epoch=2)) is ErrorCode.NOT_CONTROLLER


def test_a_leader_of_an_older_epoch_is_fenced() -> None:
    moved = applied(IMAGE, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=2)])
    assert error(moved, asked(1, 2)) is ErrorCode.FENCED_LEADER_EPOCH


def test_only_the_leader_may_ask() -> None:
    assert error(IMAGE, asked(1, 2), broker_id=2) is ErrorCode.INVALID_REQUEST


def test_an_older_partition_epoch_is_refused() -> None:
    assert error(IMAGE, asked(1, partition_epoch=0)) is ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.parametrize("isr", [(2,), (1, 1), (1, 4), ()])
def test_an_in_sync_set_without_the_leader_or_with_strangers_or_doubles_is_refused(isr: tuple[int, ...]) -> None:
    assert error(IMAGE, asked(*isr)) is ErrorCode.INVALID_REQUEST


def test_a_fenced_replica_is_not_eligible() -> None:
    fenced = applied(IMAGE, [BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=1003, fenced=1)])
    assert error(fenced, asked(1, 2, 3)) is ErrorCode.INELIGIBLE_REPLICA


def test_a_replica_that_shuts_down_is_not_eligible() -> None:
    leaving = applied(IMAGE, [BrokerRegistrationChangeRecord(broker_id=3, broker_epoch=1003, in_controlled_shutdown=1)])
    assert error(leaving, asked(1, 2, 3)) is ErrorCode.INELIGIBLE_REPLICA


def test_a_replica_that_fetched_in_another_life_is_not_eligible() -> None:
    assert error(IMAGE, asked(1, 2, 3, broker_epochs={3: 77})) is ErrorCode.INELIGIBLE_REPLICA
    (answer,), _ = alter(IMAGE, asked(1, 2, 3, broker_epochs={3: -1}))
    assert answer.error_code == ErrorCode.NONE


def test_a_request_of_an_earlier_life_is_refused_as_a_whole() -> None:
    request = AlterPartitionRequest(broker_id=1, broker_epoch=5)
    with pytest.raises(ApiError, match="STALE_BROKER_EPOCH"):
        alter_partition(IMAGE, request, api_version=3, rules=ElectionRules())


def test_a_leader_reports_that_it_has_recovered() -> None:
    unclean = PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, isr=(1,), leader_recovery_state=1)
    recovering = applied(IMAGE, [unclean])
    assert error(recovering, asked(1, 2, partition_epoch=2, leader_recovery_state=1)) is ErrorCode.INVALID_REQUEST
    (answer,), after = alter(recovering, asked(1, partition_epoch=2))
    assert (answer.error_code, answer.leader_recovery_state) == (ErrorCode.NONE, 0)
    assert state(after).leader_recovery_state == 0
    assert error(IMAGE, asked(1, leader_recovery_state=1)) is ErrorCode.INVALID_REQUEST


def test_a_change_that_completes_a_reassignment_may_take_the_leadership_away() -> None:
    moving = PartitionChangeRecord(
        topic_id=topic_id(1), partition_id=0, replicas=(3, 2, 1), removing_replicas=(1,), adding_replicas=(3,)
    )
    image = applied(IMAGE, [moving])
    (answer,), after = alter(image, asked(1, 2, 3, partition_epoch=2))
    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    found = state(after)
    assert (found.replicas, found.isr, found.leader, found.leader_epoch) == ((3, 2), (2, 3), 3, 1)
    assert (found.removing_replicas, found.adding_replicas) == ((), ())


def test_a_partition_that_is_named_twice_meets_its_own_change() -> None:
    answers, after = alter(IMAGE, asked(1), asked(1, 2, 3))
    assert [row.error_code for row in answers] == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    assert state(after).isr == (1,)
