from ottla.metadata.image import NO_LEADER, ClusterImage
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_topic

FIRST, SECOND = (topic_id(1), 0), (topic_id(1), 1)
UNINDEXED = with_topic(cluster(1, 2, 3), "t", (1, 2), (2, 3))
IMAGE = UNINDEXED.indexed()


def change(image: ClusterImage, partition_id: int, **fields: object) -> ClusterImage:
    record = PartitionChangeRecord(topic_id=topic_id(1), partition_id=partition_id, **fields)  # type: ignore[arg-type]
    return applied(image, [record])


def test_partitions_are_found_by_the_brokers_in_sync() -> None:
    index = IMAGE.topics.index
    assert [index.involving(i) for i in (1, 2, 3, 4)] == [[FIRST], [FIRST, SECOND], [SECOND], []]
    assert [index.led_by(i) for i in (1, 2, 3)] == [[FIRST], [SECOND], []]
    assert [index.leads_anything(i) for i in (1, 2, 3)] == [True, True, False]


def test_an_image_without_an_index_gets_none_by_following_the_log() -> None:
    followed = change(UNINDEXED, 0, leader=2)
    assert followed.topics._index is None
    assert followed.topics.index == change(IMAGE, 0, leader=2).topics._index
    assert followed == change(IMAGE, 0, leader=2)


def test_an_eligible_replica_stays_involved() -> None:
    index = change(IMAGE, 0, isr=(1,), eligible_leader_replicas=(2,)).topics.index
    assert index.involving(2) == [FIRST, SECOND]
    index = change(IMAGE, 0, isr=(1,)).topics.index
    assert index.involving(2) == [SECOND]


def test_partitions_without_a_leader_are_found() -> None:
    image = change(IMAGE, 0, leader=NO_LEADER)
    assert image.topics.index.led_by(NO_LEADER) == [FIRST]
    assert not image.topics.index.leads_anything(1)
    assert change(image, 0, leader=2).topics.index.led_by(NO_LEADER) == []


def test_leaders_that_are_not_preferred_are_found() -> None:
    image = change(IMAGE, 0, leader=2)
    assert image.topics.index.displaced() == [FIRST]
    assert change(image, 0, leader=NO_LEADER).topics.index.displaced() == []
    assert change(image, 0, replicas=(2, 1)).topics.index.displaced() == []


def test_several_changes_of_one_batch_count_as_one() -> None:
    records = [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=i) for i in (2, NO_LEADER, 1)]
    assert applied(IMAGE, records).topics.index == IMAGE.topics.index


def test_what_is_deleted_is_forgotten() -> None:
    index = applied(IMAGE, [RemoveTopicRecord(topic_id=topic_id(1))]).topics.index
    assert [index.involving(i) for i in (1, 2, 3)] == [[], [], []]
    assert not index.leads_anything(1)
