"""What a reader of the metadata is told: by records, by several deltas at once, by comparison."""

import random

import pytest

from ottla.metadata.image import ClusterImage, ImageDelta, ResourceType, apply_records, difference
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from ottla.protocol.schema import Message
from unit.metadata.clusters import applied, cluster, topic_id, with_config, with_topic


def deltas(image: ClusterImage, *steps: list[Message]) -> tuple[ImageDelta, ClusterImage]:
    """The deltas of several steps, merged, and the image after them."""
    merged = ImageDelta()
    for records in steps:
        image, delta = apply_records(image, records, end_offset=image.end_offset + len(records), epoch=1)
        merged.merge(delta)
    return merged, image


def created(name: str, number: int) -> list[Message]:
    return [
        TopicRecord(name=name, topic_id=topic_id(number)),
        PartitionRecord(partition_id=0, topic_id=topic_id(number), replicas=[1], isr=[1], leader=1),
        ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=name, name="retention.ms", value="5"),
    ]


def test_a_topic_that_came_and_went_between_two_looks_never_was() -> None:
    merged, _ = deltas(cluster(1), created("t", 1), [RemoveTopicRecord(topic_id=topic_id(1))])
    assert merged.is_empty


def test_a_topic_that_was_made_anew_under_its_name_is_both_deleted_and_created() -> None:
    before = with_topic(cluster(1), "t", [1])
    merged, after = deltas(before, [RemoveTopicRecord(topic_id=topic_id(1))], created("t", 2))
    assert merged == ImageDelta(
        created_topics={topic_id(2)},
        deleted_topics={topic_id(1): "t"},
        changed_partitions={(topic_id(2), 0)},
        changed_configs={(ResourceType.TOPIC, "t")},
    )
    assert difference(before, after) == merged


def test_a_comparison_names_what_is_lost_too() -> None:
    before = with_topic(with_topic(cluster(1, 2), "stays", [1, 2], [2, 1]), "goes", [1], number=2)
    before = with_config(before, ResourceType.TOPIC, "goes", "retention.ms", "5")
    before = with_config(before, ResourceType.BROKER, "1", "log.cleaner.threads", "2")
    after = with_config(with_topic(cluster(1), "stays", [1], [1]), ResourceType.BROKER, "", "log.cleaner.threads", "2")
    after = applied(after, [FeatureLevelRecord(name="metadata.version", feature_level=30)])
    assert difference(before, after) == ImageDelta(
        deleted_topics={topic_id(2): "goes"},
        changed_partitions={(topic_id(1), 0), (topic_id(1), 1)},
        changed_configs={(ResourceType.BROKER, "1"), (ResourceType.BROKER, "")},
        changed_brokers={2},
        features_changed=True,
    )


def test_equal_images_do_not_differ() -> None:
    image = with_topic(cluster(1), "t", [1])
    assert difference(image, with_topic(cluster(1), "t", [1])).is_empty


@pytest.mark.parametrize("seed", range(50))
def test_deltas_that_are_merged_say_what_one_delta_of_all_records_says(seed: int) -> None:
    dice = random.Random(seed)
    start = image = with_topic(cluster(1, 2, 3), "t1", [1], number=1)
    steps: list[list[Message]] = []
    for number in range(2, 22):
        name = f"t{dice.randint(1, 3)}"
        topic = image.topics.by_name(name)
        records = created(name, number) if topic is None else change(dice, topic.id)
        if dice.random() < 0.1 and (broker := image.brokers.get(3)) is not None:
            records = [UnregisterBrokerRecord(broker_id=3, broker_epoch=broker.epoch)]
        image = applied(image, records)
        steps.append(records)
    merged, last = deltas(start, *steps)
    _, whole = apply_records(start, [record for records in steps for record in records], end_offset=1, epoch=1)
    assert last == image
    assert merged == whole
    compared = difference(start, image)
    assert compared.created_topics == merged.created_topics
    assert compared.deleted_topics == merged.deleted_topics
    assert compared.changed_partitions <= merged.changed_partitions
    assert compared.changed_configs <= merged.changed_configs | {(2, n) for n in merged.deleted_topics.values()}
    assert compared.changed_brokers == merged.changed_brokers


def change(dice: random.Random, topic: bytes) -> list[Message]:
    if dice.random() < 0.5:
        return [RemoveTopicRecord(topic_id=topic)]
    return [PartitionChangeRecord(topic_id=topic, partition_id=0, leader=dice.randint(1, 3))]
