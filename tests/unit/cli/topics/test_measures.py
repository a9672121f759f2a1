from ottla.cli.topics.measures import PartitionMeasure, total, unknown_offsets
from ottla.client import KafkaError, TopicPartition
from ottla.protocol.errors import ErrorCode


def test_offsets_are_known_if_both_ends_are() -> None:
    assert PartitionMeasure(3, 5, 10).offsets == 7
    assert PartitionMeasure(3, None, None).offsets is None


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert total([1, 2, 3]) == 6
    assert total([1, None]) is None
    assert total([]) == 0


def test_partitions_whose_leader_is_away_are_named_together() -> None:
    away = KafkaError(ErrorCode.NETWORK_EXCEPTION, "broker 3 refuses connections")
    measures = {TopicPartition("t", number): PartitionMeasure(error=away) for number in range(7)}
    measures[TopicPartition("u", 0)] = PartitionMeasure(0, 1, 1)
    assert unknown_offsets(measures) == {"offsets of t-0, t-1, t-2, t-3, t-4 and 2 more": away}
