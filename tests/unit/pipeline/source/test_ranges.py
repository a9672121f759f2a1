from ottla.pipeline.source.ranges import OffsetRange, plan_ranges, unknown_beginnings
from ottla.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_lies_between_two_offsets_is_read() -> None:
    planned = plan_ranges({T0: 3, T1: 4}, {T1: 4, T0: 9}, {})
    assert planned.ranges == (OffsetRange("t", 0, 3, 9),)
    assert planned.losses == ()
    assert str(planned.ranges[0]) == "t-0 [3, 9)"


def test_a_new_partition_is_read_from_its_beginning() -> None:
    assert unknown_beginnings({T0: 3}, {T0: 5, T1: 2}) == {T1}
    assert plan_ranges({T0: 5}, {T0: 5, T1: 2}, {T1: 0}).ranges == (OffsetRange("t", 1, 0, 2),)


def test_a_new_partition_that_has_lost_records_already_is_told() -> None:
    planned = plan_ranges({}, {T1: 9}, {T1: 4})
    assert planned.ranges == (OffsetRange("t", 1, 4, 9),)
    assert planned.losses == ("the new partition t-1 begins at offset 4: offsets 0 to 3 are gone",)


def test_a_partition_that_is_gone_is_told_with_its_position() -> None:
    assert plan_ranges({T0: 3, T1: 7}, {T0: 3}, {}).losses == (
        "partitions are gone, with whatever was not read of them: t-1 (read up to offset 7)",
    )


def test_a_new_partition_that_is_gone_again_is_told() -> None:
    planned = plan_ranges({}, {T0: 3}, {})
    assert planned.ranges == ()
    assert planned.losses == ("partition t-0 is gone, with what was to be read of it up to offset 3",)


def test_a_partition_whose_end_went_back_is_told_and_read_from_its_beginning() -> None:
    assert unknown_beginnings({T0: 30}, {T0: 5}) == {T0}
    planned = plan_ranges({T0: 30}, {T0: 5}, {T0: 1})
    assert planned.ranges == (OffsetRange("t", 0, 1, 5),)
    assert "t-0 was read up to offset 30 and ends at 5 now" in planned.losses[0]
