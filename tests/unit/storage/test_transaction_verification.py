from ottla.storage import transaction_verification
from ottla.storage.transaction_verification import TransactionVerification

DAY_MS = 24 * 3600 * 1000


def test_questions_of_one_producer_and_epoch_share_a_guard() -> None:
    guards = TransactionVerification()
    guard = guards.begin(7, 0, 5, supports_epoch_bump=True)
    assert guards.begin(7, 0, 3, supports_epoch_bump=True) is guard
    assert guards.begin(7, 0, 4, supports_epoch_bump=True) is guard
    assert guard.lowest_sequence == 3
    assert guards.begin(8, 0, 0, supports_epoch_bump=True) is not guard


def test_writers_of_other_epochs_do_not_make_a_question_void() -> None:
    guards = TransactionVerification()
    guard = guards.begin(7, 1, 5, supports_epoch_bump=True)
    for epoch in (0, 2, 1):
        guards.begin(7, epoch, 3, supports_epoch_bump=True)
        assert guards.is_current(7, guard)
    assert (guard.epoch, guard.lowest_sequence) == (2, 3), "that of the newest epoch"
    guards.begin(7, 2, 4, supports_epoch_bump=True)
    guards.begin(7, 1, 0, supports_epoch_bump=True)
    assert guard.lowest_sequence == 3


def test_what_was_dropped_is_not_current_even_if_the_same_is_asked_again() -> None:
    guards = TransactionVerification()
    stale = guards.begin(7, 0, 0, supports_epoch_bump=False)
    guards.drop(7)
    guards.drop(7)
    assert not guards.is_current(7, stale)
    assert guards.is_current(7, guards.begin(7, 0, 0, supports_epoch_bump=False))
    assert not guards.is_current(7, stale)
    assert not guards.is_current(7, None)


def test_a_marker_voids_the_guard_of_the_transaction_that_it_may_have_ended() -> None:
    guards = TransactionVerification()
    # One epoch for many transactions: nobody can tell which of them the marker ends.
    guard = guards.begin(7, 3, 0, supports_epoch_bump=False)
    guards.ended(7, 3)
    assert not guards.is_current(7, guard)
    # An epoch for each: a marker has that of the next transaction.
    guard = guards.begin(7, 3, 0, supports_epoch_bump=True)
    for marker_epoch in (2, 3):
        guards.ended(7, marker_epoch)
        assert guards.is_current(7, guard)
    guards.ended(7, 4)
    assert not guards.is_current(7, guard)
    guards.ended(8, 0)


def test_guards_that_nobody_uses_go_in_time() -> None:
    guards = TransactionVerification()
    guard = guards.begin(7, 0, 0, supports_epoch_bump=False)
    guards.expire(1000, DAY_MS)
    guards.expire(1000 + DAY_MS - 1, DAY_MS)
    assert guards.is_current(7, guard)
    guards.expire(1000 + DAY_MS, DAY_MS)
    assert not guards.is_current(7, guard)
    assert len(guards) == 0


def test_the_oldest_questions_are_forgotten_if_there_are_too_many(monkeypatch) -> None:
    monkeypatch.setattr(transaction_verification, "GUARDS_MAX", 3)
    guards = TransactionVerification()
    made = [guards.begin(number, 0, 0, supports_epoch_bump=False) for number in range(5)]
    assert [guards.is_current(number, guard) for number, guard in enumerate(made)] == [False, False, True, True, True]
