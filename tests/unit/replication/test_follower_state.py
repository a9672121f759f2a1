"""What a leader's answer means for a follower's log."""

from dataclasses import replace

import pytest

from ottla.replication.follower_state import (
    NO_EPOCH,
    Discard,
    FetchPosition,
    FollowerState,
    LeaderAnswer,
    StartAnew,
    Take,
    Truncate,
)
from ottla.storage.leader_epochs import EpochEnd


def follower(*, end: int = 10, watermark: int = 6, last_epoch: int = 3) -> FollowerState:
    return FollowerState(2, 5, log_end_offset=end, high_watermark=watermark, last_epoch=last_epoch)


def test_a_log_with_epochs_is_followed_from_its_end() -> None:
    assert follower().position == FetchPosition(10, 3, 5)


def test_a_log_without_epochs_is_followed_from_what_is_committed() -> None:
    assert follower(last_epoch=NO_EPOCH).position == FetchPosition(6, NO_EPOCH, 5)


def test_the_watermark_is_the_leaders_as_far_as_the_log_reaches() -> None:
    state = follower()
    assert state.answered(state.position, LeaderAnswer(15, 2), None) == Take(2)
    assert state.high_watermark == 10
    state.appended(20, 5)
    assert state.high_watermark == 15
    assert state.position == FetchPosition(20, 5, 5)
    state.answered(state.position, LeaderAnswer(12, 2), None)
    assert state.high_watermark == 15, "it never goes back"


def test_an_answer_without_records_keeps_the_last_fetched_epoch() -> None:
    state = follower()
    asked = state.position
    state.answered(asked, LeaderAnswer(10, 0), None)
    state.appended(10, NO_EPOCH)
    assert state.position == asked


@pytest.mark.parametrize("other", [{"fetch_offset": 9}, {"leader_epoch": 4}, {"last_fetched_epoch": 2}])
def test_an_answer_to_what_is_not_asked_any_more_is_discarded(other: dict[str, int]) -> None:
    state = follower()
    asked = replace(state.position, **other)
    assert state.answered(asked, LeaderAnswer(10, 0), None) == Discard()
    assert state.out_of_range(asked, 0, 5) == Discard()
    assert state.high_watermark == 6


@pytest.mark.parametrize(
    ("diverging", "own_end", "cut"),
    [
        (EpochEnd(3, 8), EpochEnd(3, 10), 8),
        (EpochEnd(3, 12), EpochEnd(3, 9), 9),
        (EpochEnd(2, 7), EpochEnd(1, 4), 4),
        (EpochEnd(2, 7), None, 7),
        (EpochEnd(2, 70), None, 10),
    ],
)
def test_a_diverging_answer_cuts_the_log_and_moves_nothing_else(
    diverging: EpochEnd, own_end: EpochEnd | None, cut: int
) -> None:
    state = follower()
    answer = LeaderAnswer(99, 5, diverging=diverging)
    assert state.answered(state.position, answer, own_end) == Truncate(cut)
    assert state.high_watermark == 6
    state.truncated(cut, 1)
    assert state.position == FetchPosition(cut, 1, 5)
    assert state.high_watermark == min(6, cut)


def test_a_leader_that_ends_before_the_follower_cuts_it() -> None:
    state = follower()
    assert state.out_of_range(state.position, 0, 7) == Truncate(7)


def test_a_leader_that_starts_after_the_follower_has_it_start_anew() -> None:
    state = follower()
    assert state.out_of_range(state.position, 50, 90) == StartAnew(50)
    state.truncated(50, NO_EPOCH)
    assert state.position == FetchPosition(50, NO_EPOCH, 5)


def test_a_refusal_that_is_out_of_date_is_asked_again() -> None:
    state = follower()
    assert state.out_of_range(state.position, 3, 20) == Discard()
