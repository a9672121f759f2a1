"""The client's picture of a cluster."""

from ottla.client.addresses import Address
from ottla.client.metadata import MetadataCache, Node
from ottla.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.topic_partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
FIRST_ID = bytes([1]) * 16
SECOND_ID = bytes([2]) * 16


def answer(leader: int, epoch: int, *, topic_id: bytes = FIRST_ID, name: str = "orders") -> MetadataResponse:
    partition = MetadataResponsePartition(
        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=[1]
    )
    brokers = [MetadataResponseBroker(node_id=number, host=f"b{number}", port=9092) for number in (1, 2)]
    topic = MetadataResponseTopic(name=name, topic_id=topic_id, partitions=[partition])
    return MetadataResponse(cluster_id="c", controller_id=2, brokers=brokers, topics=[topic])


def test_an_answer_tells_brokers_topics_and_leaders() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    assert cache.leader(ORDERS) == Node(1, Address("b1", 9092))
    assert (cache.cluster_id, cache.controller_id) == ("c", 2)
    assert cache.topic_id("orders") == FIRST_ID
    assert cache.topic_name(FIRST_ID) == "orders"
    assert cache.leader(TopicPartition("orders", 1)) is None


def test_an_older_leader_epoch_is_not_believed() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    cache.update(answer(2, 4))
    assert cache.leader(ORDERS) == Node(1, Address("b1", 9092))
    cache.update(answer(2, 6))
    assert cache.leader(ORDERS) == Node(2, Address("b2", 9092))


def test_a_topic_that_was_made_again_starts_over() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    cache.update(answer(2, 0, topic_id=SECOND_ID))
    assert cache.leader(ORDERS) == Node(2, Address("b2", 9092))
    assert cache.topic_name(FIRST_ID) is None


def test_only_a_complete_answer_takes_topics_away() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    cache.update(answer(1, 0, topic_id=SECOND_ID, name="payments"))
    assert set(cache.topics) == {"orders", "payments"}
    cache.update(answer(1, 0, topic_id=SECOND_ID, name="payments"), is_complete=True)
    assert set(cache.topics) == {"payments"}


def test_a_hint_about_a_newer_leader_is_taken_with_its_address() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    third = Node(3, Address("b3", 9092))
    assert not cache.hint_leader(ORDERS, 2, 5, [])
    assert not cache.hint_leader(ORDERS, 3, 6, [])
    assert cache.hint_leader(ORDERS, 3, 6, [third])
    assert cache.leader(ORDERS) == third


def test_a_forgotten_topic_is_gone_by_name_and_by_id() -> None:
    cache = MetadataCache()
    cache.update(answer(1, 5))
    cache.forget_topic("orders")
    assert cache.leader(ORDERS) is None
    assert cache.topic_name(FIRST_ID) is None
