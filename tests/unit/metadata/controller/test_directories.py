import pytest

from ottla.metadata.controller.directories import assign_replicas_to_dirs
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.image import ClusterImage, PartitionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

FIRST, SECOND, GONE = directory(101), directory(102), directory(103)

# Broker 1 has two directories, and has not reported yet where it keeps its replica.
IMAGE = with_topic(
    applied(cluster(1, 2), [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1001, log_dirs=[FIRST, SECOND])]),
    "t",
    (1, 2),
)


def assign(
    image: ClusterImage, to: bytes, *, topic: bytes = topic_id(1), partition: int = 0, broker_id: int = 1
) -> tuple[int, ClusterImage]:
    rows = [TopicData(topic_id=topic, partitions=[PartitionData(partition_index=partition)])]
    request = AssignReplicasToDirsRequest(
        broker_id=broker_id, broker_epoch=1000 + broker_id, directories=[DirectoryData(id=to, topics=rows)]
    )
    decision = assign_replicas_to_dirs(image, request, rules=ElectionRules())
    (answer,) = decision.response.directories
    assert answer.id == to
    return answer.topics[0].partitions[0].error_code, applied(image, decision)


def state(image: ClusterImage) -> PartitionState:
    found = image.topics.partition(topic_id(1), 0)
    assert found is not None
    return found


def test_a_broker_tells_where_it_keeps_a_replica() -> None:
    assert state(IMAGE).directory_of(1) == bytes(16)
    code, after = assign(IMAGE, SECOND)
    assert code == ErrorCode.NONE
    assert state(after).directories == (SECOND, directory(2))
    assert (state(after).leader, state(after).isr, state(after).leader_epoch) == (1, (1, 2), 0)
    assert assign(after, SECOND) == (ErrorCode.NONE, after)


def test_a_replica_in_a_directory_that_is_offline_loses_its_leadership() -> None:
    code, after = assign(IMAGE, GONE)
    assert code == ErrorCode.NONE
    assert (state(after).directory_of(1), state(after).leader, state(after).isr) == (GONE, 2, (2,))


def test_what_a_broker_does_not_have_it_cannot_assign() -> None:
    assert assign(IMAGE, FIRST, topic=topic_id(9)) == (ErrorCode.UNKNOWN_TOPIC_ID, IMAGE)
    assert assign(IMAGE, FIRST, partition=4) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, IMAGE)
    image = with_topic(IMAGE, "other", (2,), number=2)
    assert assign(image, FIRST, topic=topic_id(2)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, image)


def test_a_request_of_an_earlier_life_is_refused() -> None:
    with pytest.raises(ApiError, match="STALE_BROKER_EPOCH"):
        assign_replicas_to_dirs(IMAGE, AssignReplicasToDirsRequest(broker_id=1, broker_epoch=3), rules=ElectionRules())
