"""What waits for a sync, when the next one begins, and how far the last one counts."""

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.unsynced_tail import UnsyncedTail

FULL = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "full")


def tail_to(end_offset: int) -> UnsyncedTail:
    """A tail for which a sync is under way."""
    tail = UnsyncedTail()
    tail.hold(end_offset)
    assert tail.begin_sync()
    return tail


def test_nothing_waits_at_first() -> None:
    tail = UnsyncedTail()
    assert not tail.begin_sync()
    assert tail.count(5, must_flush=True) is None
    tail.check()


def test_one_sync_is_under_way_at_most() -> None:
    tail = tail_to(3)
    tail.hold(4)
    assert not tail.begin_sync()
    assert tail.is_syncing


def test_all_that_waits_counts_once_the_log_needs_no_flush() -> None:
    tail = tail_to(3)
    tail.sync_ended()
    assert tail.count(2, must_flush=False) == 3
    assert tail.count(2, must_flush=False) is None
    assert not tail.begin_sync()


@pytest.mark.parametrize(("recovery_point", "counted"), [(3, 3), (9, 5)])
def test_what_a_sync_has_reached_counts_and_the_rest_asks_for_another(recovery_point: int, counted: int) -> None:
    tail = tail_to(3)
    tail.hold(5)
    tail.sync_ended()
    assert tail.count(recovery_point, must_flush=True) == counted
    assert tail.begin_sync()
    tail.sync_ended()
    assert tail.count(5, must_flush=False) == 5


def test_a_failure_is_told_to_everybody_until_the_next_sync_begins() -> None:
    tail = tail_to(3)
    tail.sync_ended(FULL)
    for _ in range(2):
        with pytest.raises(ApiError, match="full") as refused:
            tail.check()
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert refused.value is not FULL, "each has a stack of its own"
    assert tail.count(0, must_flush=True) == 0
    assert tail.begin_sync()
    tail.check()


def test_a_failure_is_forgotten_when_no_sync_is_needed_any_more() -> None:
    tail = tail_to(3)
    tail.sync_ended(FULL)
    assert tail.count(0, must_flush=False) == 3
    tail.check()


def test_a_new_epoch_begins_without_a_tail_and_waits_for_the_sync_that_is_under_way() -> None:
    tail = tail_to(3)
    tail.clear()
    assert tail.count(3, must_flush=False) is None
    tail.hold(1)
    assert not tail.begin_sync()
    tail.sync_ended(FULL)
    tail.clear()
    tail.check()
    assert not tail.begin_sync()
