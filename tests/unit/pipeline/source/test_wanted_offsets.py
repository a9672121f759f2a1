import pytest

from ottla.client.offsets import OffsetSpec
from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.wanted_offsets import (
    AtCommitted,
    AtOffsets,
    AtPlace,
    AtTimes,
    check_batch,
    check_partitions,
    parse_end,
    parse_start,
)
from ottla.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def start(group_id: str | None = None, **options: str) -> object:
    lowered = {name.lower(): value for name, value in options.items()}
    return parse_start(lowered, OffsetSpec.LATEST, group_id)


def test_a_start_is_a_place_offsets_times_or_what_a_group_has_committed() -> None:
    assert start() == AtPlace(OffsetSpec.LATEST)
    assert start(startingOffsets=" Earliest ") == AtPlace(OffsetSpec.EARLIEST)
    assert start("g", startingOffsets="committed") == AtCommitted("g")
    assert start(startingOffsets='{"t": {"1": -1, "0": 7}}') == AtOffsets(((T0, 7), (T1, -1)), "startingOffsets")
    assert start(startingTimestamp="5") == AtTimes(5, "startingTimestamp", must_exist=True)
    by_partition = start(startingOffsetsByTimestamp='{"t": {"0": 7}}', startingOffsetsByTimestampStrategy="latest")
    assert by_partition == AtTimes(((T0, 7),), "startingOffsetsByTimestamp", must_exist=False)


def test_a_time_for_all_comes_before_times_and_those_before_offsets() -> None:
    given = {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"t": {"0": 7}}'}
    assert isinstance(start(**given), AtTimes)
    assert start(startingTimestamp="5", **given) == AtTimes(5, "startingTimestamp", must_exist=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "newest"}, "startingOffsets=newest is neither one of earliest, latest, committed nor"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "-3 of t-0 is not an offset"),
        ({"startingOffsets": "committed"}, "needs a group"),
        ({"startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"startingTimestamp": "-1"}, "milliseconds since 1970"),
        ({"startingOffsetsByTimestamp": '{"t": {"0": -1}}'}, "not a time in milliseconds"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "neither error nor latest"),
    ],
)
def test_what_is_no_start_is_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        start(**options)


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        (AtPlace(OffsetSpec.LATEST), AtPlace(OffsetSpec.LATEST), "cannot start at latest"),
        (AtOffsets(((T0, -1),), "startingOffsets"), AtPlace(OffsetSpec.LATEST), "cannot start at latest"),
        (AtPlace(OffsetSpec.EARLIEST), AtOffsets(((T0, -2),), "endingOffsets"), "cannot end at earliest"),
        (AtOffsets(((T0, 8),), "startingOffsets"), AtOffsets(((T0, 5),), "endingOffsets"), "of t-0 is 8, after"),
        (AtTimes(8, "startingTimestamp", True), AtTimes(5, "endingTimestamp", False), "startingTimestamp is 8, after"),
    ],
)
def test_a_batch_that_could_only_be_empty_is_refused(begin: AtPlace, end: AtPlace, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_batch(begin, end)


def test_a_batch_may_start_and_end_at_the_same_offset() -> None:
    check_batch(AtOffsets(((T0, 5),), "startingOffsets"), AtOffsets(((T0, 5),), "endingOffsets"))
    check_batch(AtOffsets(((T0, 5),), "startingOffsets"), AtOffsets(((T0, -1),), "endingOffsets"))


def test_the_end_of_a_batch_is_not_what_a_group_has_committed() -> None:
    assert parse_end({}) == AtPlace(OffsetSpec.LATEST)
    with pytest.raises(OptionError, match="endingOffsets=committed"):
        parse_end({"endingoffsets": "committed"})


def test_given_offsets_are_those_of_exactly_the_partitions_that_are_read() -> None:
    given = AtOffsets(((T0, 1), (T1, 1)), "startingOffsets")
    check_partitions(given, {T0, T1})
    check_partitions(AtTimes(5, "startingTimestamp", must_exist=True), {T0})
    with pytest.raises(OptionError, match="does not name u-0"):
        check_partitions(given, {T0, T1, TopicPartition("u", 0)})
    with pytest.raises(OptionError, match="names t-1, which"):
        check_partitions(given, {T0})
