import pytest

from ottla.metadata.image import NO_LEADER, ClusterImage, ImageBuilder, PartitionState, ResourceType
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.clear_elr_record import ClearElrRecord
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.fence_broker_record import FenceBrokerRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_config, with_topic


@pytest.fixture
def image() -> ClusterImage:
    return with_topic(cluster(1, 2, 3), "a.b", (1, 2), (2, 3))


def state(image: ClusterImage, partition: int = 0) -> PartitionState:
    found = image.topics.partition(topic_id(1), partition)
    assert found is not None
    return found


def test_topics_are_found_by_name_and_id(image: ClusterImage) -> None:
    assert image.topics.by_name("a.b") is image.topics.by_id(topic_id(1))
    assert image.topics.by_name("a_b") is None


def test_a_change_of_leader_counts_both_epochs_up(image: ClusterImage) -> None:
    changed = state(applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=2)]))
    assert (changed.leader, changed.leader_epoch, changed.partition_epoch) == (2, 1, 1)
    assert changed.isr == (1, 2)


def test_a_change_of_the_in_sync_set_keeps_the_leader_epoch(image: ClusterImage) -> None:
    changed = state(applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, isr=[1])]))
    assert (changed.isr, changed.leader, changed.leader_epoch, changed.partition_epoch) == ((1,), 1, 0, 1)


def test_a_partition_without_a_leader_has_a_new_epoch_too(image: ClusterImage) -> None:
    changed = state(applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, leader=NO_LEADER)]))
    assert (changed.leader, changed.leader_epoch) == (NO_LEADER, 1)


def test_new_replicas_keep_the_directories_that_are_known(image: ClusterImage) -> None:
    changed = state(applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, replicas=[2, 3])]))
    assert changed.directories == (directory(2), bytes(16))


def test_clearing_eligible_replicas_leaves_others_alone(image: ClusterImage) -> None:
    marked = applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=1, eligible_leader_replicas=[3])])
    cleared = applied(marked, [ClearElrRecord(topic_name="")])
    assert state(cleared, 1).eligible_leader_replicas == ()
    assert state(cleared, 0) == state(marked, 0)


def test_a_removed_topic_takes_its_configs_along(image: ClusterImage) -> None:
    configured = with_config(image, ResourceType.TOPIC, "a.b", "retention.ms", "5")
    removed = applied(configured, [RemoveTopicRecord(topic_id=topic_id(1))])
    assert len(removed.topics) == 0
    assert not removed.configs.topic("a.b")
    assert not removed.topics.clashes_of("a_b")


def test_names_that_metrics_cannot_tell_apart_are_known(image: ClusterImage) -> None:
    assert image.topics.clashes_of("a_b") == {"a.b"}
    assert not image.topics.clashes_of("a.b")


def test_an_earlier_image_does_not_change(image: ClusterImage) -> None:
    applied(image, [RemoveTopicRecord(topic_id=topic_id(1))])
    assert image.topics.by_name("a.b") is not None


def test_a_delta_names_what_changed(image: ClusterImage) -> None:
    builder = ImageBuilder(image)
    builder.apply(PartitionChangeRecord(topic_id=topic_id(1), partition_id=1, leader=3))
    builder.apply(ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name="x", value="1"))
    builder.apply(FenceBrokerRecord(id=2, epoch=1002))
    builder.apply(FeatureLevelRecord(name="metadata.version", feature_level=30))
    builder.apply(ProducerIdsRecord(broker_id=1, broker_epoch=1001, next_producer_id=1000))
    delta = builder.delta
    assert delta.changed_partitions == {(topic_id(1), 1)}
    assert delta.changed_topics == [topic_id(1)]
    assert delta.changed_configs == {(ResourceType.BROKER, "")}
    assert delta.changed_brokers == {2}
    assert delta.features_changed
    assert delta.producer_ids_changed


def test_a_topic_that_came_and_went_within_a_delta_never_was() -> None:
    builder = ImageBuilder()
    builder.apply(TopicRecord(name="t", topic_id=topic_id(7)))
    builder.apply(RemoveTopicRecord(topic_id=topic_id(7)))
    assert builder.delta.is_empty


def test_a_deleted_topic_is_named_in_the_delta(image: ClusterImage) -> None:
    builder = ImageBuilder(image)
    builder.apply(PartitionChangeRecord(topic_id=topic_id(1), partition_id=1, leader=3))
    builder.apply(RemoveTopicRecord(topic_id=topic_id(1)))
    assert builder.delta.deleted_topics == {topic_id(1): "a.b"}
    assert not builder.delta.changed_partitions


def test_brokers_are_fenced_unfenced_and_unregistered(image: ClusterImage) -> None:
    fenced = applied(image, [FenceBrokerRecord(id=2, epoch=1002)])
    assert [broker.id for broker in fenced.brokers.unfenced()] == [1, 3]
    back = applied(fenced, [UnfenceBrokerRecord(id=2, epoch=1002)])
    assert back.brokers == image.brokers
    gone = applied(image, [UnregisterBrokerRecord(broker_id=2, broker_epoch=1002)])
    assert gone.brokers.get(2) is None


def test_controlled_shutdown_ends_activity_but_not_visibility(image: ClusterImage) -> None:
    change = BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=1002, in_controlled_shutdown=1)
    leaving = applied(image, [change])
    assert not leaving.brokers.is_active(2)
    assert 2 in [broker.id for broker in leaving.brokers.unfenced()]


def test_a_deleted_config_and_an_empty_resource_vanish(image: ClusterImage) -> None:
    configured = with_config(image, ResourceType.TOPIC, "a.b", "retention.ms", "5")
    assert configured.configs.names(ResourceType.TOPIC) == ["a.b"]
    unset = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="a.b", name="retention.ms", value=None)
    assert applied(configured, [unset]).configs == image.configs


@pytest.mark.parametrize(
    "record",
    [
        PartitionChangeRecord(topic_id=topic_id(9), partition_id=0),
        PartitionChangeRecord(topic_id=topic_id(1), partition_id=5),
        RemoveTopicRecord(topic_id=topic_id(9)),
        TopicRecord(name="a.b", topic_id=topic_id(2)),
        FenceBrokerRecord(id=9, epoch=1),
        UnfenceBrokerRecord(id=2, epoch=1),
        ClearElrRecord(topic_name="none"),
    ],
)
def test_a_record_that_contradicts_the_image_stops_the_replay(image: ClusterImage, record) -> None:
    with pytest.raises(UnreadableMetadata):
        applied(image, [record])
