from ottla.protocol.topic_partition import TopicPartition


def test_a_partition_prints_as_its_directory_is_named() -> None:
    assert str(TopicPartition("orders-eu", 3)) == "orders-eu-3"


def test_a_bare_pair_finds_what_was_kept_under_its_partition() -> None:
    assert {TopicPartition("orders", 3): "leader"}.get(("orders", 3)) == "leader"


def test_partitions_order_by_topic_and_then_by_number() -> None:
    unordered = [TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)]
    assert sorted(unordered) == [TopicPartition("a", 9), TopicPartition("a", 10), TopicPartition("b", 0)]
