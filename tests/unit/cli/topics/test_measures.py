from ottla.cli.topics.measures import PartitionMeasure, total


def test_offsets_are_known_if_both_ends_are() -> None:
    assert PartitionMeasure(3, 5, 10).offsets == 7
    assert PartitionMeasure(3, None, None).offsets is None


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert total([1, 2, 3]) == 6
    assert total([1, None]) is None
    assert total([]) == 0
