"""When a follower counts as caught up."""

from ottla.replication.follower_progress import FollowerProgress

LAG_MS = 1000


def fetched(progress: FollowerProgress, offset: int, leader_end: int, now_ms: int) -> None:
    progress.fetched(offset, 0, leader_end, 7, now_ms)


def test_a_follower_that_asks_for_the_end_is_caught_up_at_that_time() -> None:
    progress = FollowerProgress(0, is_in_sync=False)
    assert not progress.is_caught_up(10, 0, LAG_MS)
    fetched(progress, 10, 10, 500)
    assert progress.last_caught_up_ms == 500
    assert progress.is_caught_up(20, 500 + LAG_MS, LAG_MS)
    assert not progress.is_caught_up(20, 501 + LAG_MS, LAG_MS)


def test_a_follower_that_keeps_pace_under_load_was_caught_up_at_the_fetch_before() -> None:
    progress = FollowerProgress(0, is_in_sync=False)
    fetched(progress, 0, 10, 100)
    fetched(progress, 10, 20, 200)
    assert progress.last_caught_up_ms == 100
    fetched(progress, 15, 30, 300)
    assert progress.last_caught_up_ms == 100, "20 was the end at the fetch before"


def test_the_first_fetch_proves_nothing_about_an_earlier_one() -> None:
    progress = FollowerProgress(50, is_in_sync=False)
    fetched(progress, 5, 10, 100)
    assert not progress.is_caught_up(10, 100, LAG_MS)


def test_a_follower_in_sync_has_the_full_lag_to_fetch_for_the_first_time() -> None:
    progress = FollowerProgress(100, is_in_sync=True)
    assert progress.is_caught_up(10, 100 + LAG_MS, LAG_MS)
    assert not progress.is_caught_up(10, 101 + LAG_MS, LAG_MS)


def test_a_follower_that_has_everything_never_lags() -> None:
    progress = FollowerProgress(0, is_in_sync=True)
    fetched(progress, 10, 10, 1)
    assert progress.is_caught_up(10, 10**9, LAG_MS)
    assert not progress.is_caught_up(11, 10**9, LAG_MS)


def test_a_later_fetch_of_the_session_counts_for_a_partition_it_left_out() -> None:
    progress = FollowerProgress(0, is_in_sync=True)
    fetched(progress, 10, 10, 100)
    progress.still_caught_up(900)
    progress.still_caught_up(800)
    assert progress.last_caught_up_ms == 900
    assert progress.is_caught_up(11, 900 + LAG_MS, LAG_MS)
