"""What an answer to a fetch means for the ranges of a split; the answers are made by hand."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from ottla.client.errors import KafkaError
from ottla.client.fetch_request import NOTHING, FetchedBatches
from ottla.client.offsets import IsolationLevel
from ottla.client.records import NewRecord, encode_records
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import LOSS_PATIENCE_S
from ottla.pipeline.source.options import ReadOptions, batch_options
from ottla.pipeline.source.ranges import OffsetRange
from ottla.pipeline.source.split_fetches import EMPTY_ANSWERS_MIN, EMPTY_SPREAD_S, PAUSE_S, PAUSE_S_MAX, SplitFetches
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import set_base_offset

if TYPE_CHECKING:
    from ottla.client.sync import Client

EMPTY = FetchedBatches(NOTHING, 1000, 1000)
FIRST, SECOND = OffsetRange("t", 0, 10, 20), OffsetRange("t", 1, 0, 5)
OPTIONS = batch_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t"}).read


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def fetches(*ranges: OffsetRange, options: ReadOptions = OPTIONS, time: Time | None = None) -> SplitFetches:
    # Nothing is asked for here.
    return SplitFetches(cast("Client", None), ranges, options, time or Time())


def batch(base_offset: int, count: int, high_watermark: int = 1000) -> FetchedBatches:
    made = encode_records([NewRecord(b"v") for _ in range(count)])
    set_base_offset(made, base_offset)
    return FetchedBatches(memoryview(bytes(made)), high_watermark, high_watermark)


def test_a_range_is_through_when_its_end_was_fetched() -> None:
    split = fetches(FIRST)
    [chunk] = split.take({FIRST.topic_partition: batch(8, 6)})
    assert chunk.range == FIRST
    [chunk] = split.take({FIRST.topic_partition: batch(14, 30)})
    assert chunk.range == FIRST._replace(start=14)
    assert split.start() is None


def test_a_range_that_ends_in_a_gap_is_through_when_the_next_batch_lies_behind_it() -> None:
    split = fetches(FIRST)
    split.take({FIRST.topic_partition: batch(25, 3)})
    assert split.start() is None


def test_records_that_come_after_empty_answers_are_read() -> None:
    time = Time()
    split = fetches(FIRST, time=time)
    for _ in range(EMPTY_ANSWERS_MIN - 1):
        assert split.take({FIRST.topic_partition: EMPTY}) == []
        time.now_s += 0.5
    [chunk] = split.take({FIRST.topic_partition: batch(10, 5)})
    assert chunk.range == FIRST
    # What was empty before the records says nothing of what is after them.
    time.now_s += EMPTY_SPREAD_S
    assert split.take({FIRST.topic_partition: EMPTY}) == []
    [chunk] = split.take({FIRST.topic_partition: batch(15, 5)})
    assert chunk.range == FIRST._replace(start=15)
    assert split.start() is None


@pytest.mark.parametrize("isolation", IsolationLevel)
@pytest.mark.parametrize("poll_timeout_ms", [1, 120_000])
def test_a_range_whose_last_records_were_compacted_away_is_through_after_empty_answers_for_long_enough(
    isolation: IsolationLevel, poll_timeout_ms: int
) -> None:
    time = Time()
    split = fetches(FIRST, options=replace(OPTIONS, isolation=isolation, poll_timeout_ms=poll_timeout_ms), time=time)
    split.take({FIRST.topic_partition: batch(10, 3)})
    answer = {FIRST.topic_partition: FetchedBatches(NOTHING, 20, 20)}
    for _ in range(EMPTY_ANSWERS_MIN + 1):
        time.now_s += 0.1
        assert split.take(answer) == []
    # Enough answers, but all of one moment.
    assert split.has_more
    time.now_s += EMPTY_SPREAD_S
    assert split.take(answer) == []
    assert not split.has_more


def test_a_few_empty_answers_are_not_enough_however_far_apart() -> None:
    time = Time()
    split = fetches(FIRST, time=time)
    for _ in range(EMPTY_ANSWERS_MIN - 1):
        time.now_s += 10 * EMPTY_SPREAD_S
        split.take({FIRST.topic_partition: EMPTY})
    assert split.has_more


def test_a_leader_that_names_another_replica_has_not_said_that_nothing_is_there() -> None:
    time = Time()
    split = fetches(FIRST, time=time)
    answer = {FIRST.topic_partition: replace(EMPTY, preferred_read_replica=2)}
    for _ in range(10):
        time.now_s += EMPTY_SPREAD_S
        split.take(answer)
    assert split.has_more
    time.now_s = 120.0
    with pytest.raises(PipelineError, match=r"no records of t-0 \[10, 20\) came from offset 10 on for 120000 ms"):
        split.take(answer)


def test_an_error_between_empty_answers_makes_them_count_from_the_beginning() -> None:
    time = Time()
    split = fetches(FIRST, time=time)
    throttled = FetchedBatches(NOTHING, error=KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
    for _ in range(EMPTY_ANSWERS_MIN):
        for answer in (*[EMPTY] * (EMPTY_ANSWERS_MIN - 1), throttled):
            time.now_s += EMPTY_SPREAD_S
            split.take({FIRST.topic_partition: answer})
    assert split.has_more


def test_nothing_is_concluded_from_an_empty_answer_while_other_ranges_may_have_filled_the_fetch() -> None:
    split = fetches(FIRST, SECOND)
    split.take({FIRST.topic_partition: FetchedBatches(NOTHING, 1000), SECOND.topic_partition: batch(0, 5)})
    [chunk] = split.take({FIRST.topic_partition: batch(10, 10)})
    assert chunk.range == FIRST
    assert split.start() is None


def test_a_range_that_gets_nowhere_is_an_error_after_the_poll_timeout() -> None:
    time = Time()
    split = fetches(FIRST, time=time)
    # The end of the partition has not been seen to be where it was when the batch was planned.
    empty = {FIRST.topic_partition: FetchedBatches(NOTHING, 15, 15)}
    time.now_s = 119.0
    split.take(empty)
    time.now_s = 120.0
    with pytest.raises(PipelineError, match=r"no records of t-0 \[10, 20\) came from offset 10 on for 120000 ms"):
        split.take(empty)


def test_a_broker_that_answers_at_once_with_nothing_is_asked_again_after_pauses() -> None:
    split = fetches(FIRST)
    assert split.pause_s == 0
    pauses = []
    for error in (KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR), None) * 1000:
        split.take({FIRST.topic_partition: FetchedBatches(NOTHING, error=error)})
        pauses.append(split.pause_s)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (PAUSE_S, PAUSE_S_MAX)
    split.take({FIRST.topic_partition: batch(10, 5)})
    assert split.pause_s == 0


def test_a_partition_that_is_gone_is_an_error_or_passed_over() -> None:
    gone = {FIRST.topic_partition: FetchedBatches(NOTHING, error=KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))}
    time = Time()
    strict, lax = (
        fetches(FIRST, options=replace(OPTIONS, fail_on_data_loss=fails), time=time) for fails in (True, False)
    )
    for split in (strict, lax):
        # The broker may only have started a moment ago.
        assert split.take(gone) == []
        assert split.has_more
    time.now_s = LOSS_PATIENCE_S
    with pytest.raises(PipelineError, match=r"t-0 is gone, with offsets 10 to 19.*failOnDataLoss to false"):
        strict.take(gone)
    assert lax.take(gone) == []
    assert lax.start() is None


def test_a_refusal_names_the_range_and_the_offset() -> None:
    refused = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(PipelineError, match=r"reading t-0 \[10, 20\) failed at offset 10: TOPIC_AUTHORIZATION_FAILED"):
        fetches(FIRST).take({FIRST.topic_partition: FetchedBatches(NOTHING, error=refused)})


def test_damaged_batches_are_named() -> None:
    damaged = FetchedBatches(memoryview(bytes(70)), 1000)
    with pytest.raises(PipelineError, match="t-0: a record batch is damaged"):
        fetches(FIRST).take({FIRST.topic_partition: damaged})
