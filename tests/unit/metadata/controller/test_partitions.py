from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.partitions import changes_when_broker_leaves, changes_when_broker_returns
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState
from ottla.protocol.messages.fence_broker_record import FenceBrokerRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_topic


def leave(image: ClusterImage, broker_id: int, *, is_unclean: bool = False) -> ClusterImage:
    changes = changes_when_broker_leaves(image, broker_id, ElectionRules(is_unclean_allowed=is_unclean))
    return applied(image, [FenceBrokerRecord(id=broker_id, epoch=1000 + broker_id), *changes])


def come_back(image: ClusterImage, broker_id: int) -> ClusterImage:
    changes = changes_when_broker_returns(image, broker_id, ElectionRules())
    return applied(image, [UnfenceBrokerRecord(id=broker_id, epoch=1000 + broker_id), *changes])


def state(image: ClusterImage) -> PartitionState:
    found = image.topics.partition(topic_id(1), 0)
    assert found is not None
    return found


IMAGE = with_topic(cluster(1, 2, 3), "t", (1, 2, 3))


def test_the_next_in_sync_replica_of_the_list_takes_over() -> None:
    after = state(leave(IMAGE, 1))
    assert (after.leader, after.isr, after.leader_epoch) == (2, (2, 3), 1)


def test_a_follower_that_leaves_only_leaves_the_in_sync_set() -> None:
    after = state(leave(IMAGE, 3))
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (1, (1, 2), 0, 1)


def test_the_last_in_sync_replica_stays_in_the_set_without_leading() -> None:
    after = state(leave(leave(leave(IMAGE, 1), 2), 3))
    assert (after.leader, after.isr) == (NO_LEADER, (3,))


def test_only_the_last_in_sync_replica_can_bring_the_partition_back() -> None:
    offline = leave(leave(leave(IMAGE, 1), 2), 3)
    assert state(come_back(offline, 1)).leader == NO_LEADER
    after = state(come_back(offline, 3))
    assert (after.leader, after.isr) == (3, (3,))


def test_an_unclean_election_takes_whoever_is_there_and_marks_the_recovery() -> None:
    alone = leave(leave(IMAGE, 2), 3)
    with_one_returned = come_back(alone, 2)
    assert state(with_one_returned).isr == (1,)
    after = state(leave(with_one_returned, 1, is_unclean=True))
    assert (after.leader, after.isr, after.leader_recovery_state) == (2, (2,), 1)


def test_an_eligible_replica_takes_over_where_the_in_sync_set_is_empty() -> None:
    # What a controller of Apache Kafka leaves when the last broker shuts down (KIP-966).
    emptied = PartitionChangeRecord(
        topic_id=topic_id(1), partition_id=0, isr=(), leader=NO_LEADER, eligible_leader_replicas=(3, 2)
    )
    image = applied(leave(leave(leave(IMAGE, 1), 2), 3), [emptied])
    assert state(come_back(image, 1)).leader == NO_LEADER
    after = state(come_back(image, 2))
    assert (after.leader, after.isr, after.eligible_leader_replicas) == (2, (2,), ())


def test_partitions_of_others_are_left_alone() -> None:
    image = with_topic(cluster(1, 2, 3), "t", (2, 3))
    assert changes_when_broker_leaves(image, 1, ElectionRules()) == []
    assert changes_when_broker_returns(image, 1, ElectionRules()) == []
