"""Offsets inside transactions: when they take effect, and which of two wins."""

import pytest

from ottla.coordinator.group.pending_offsets import PendingOffsets
from ottla.coordinator.group.records import CommittedOffset
from unit.coordinator.group.playbook import Playbook

KEY = ("g", "t", 0)
OTHER = ("g", "t", 1)


def offset(position: int) -> CommittedOffset:
    return CommittedOffset(position, -1, "", 0)


def effects(pending: PendingOffsets, producer_id: int, *, is_commit: bool = True) -> dict[tuple[str, str, int], int]:
    records = pending.end(producer_id, is_commit=is_commit)
    return {record[:3]: record.value.offset for record in records if record.value is not None}


def test_a_commit_marker_lets_the_producers_offsets_take_effect_together() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.add(1, OTHER, offset(6))
    pending.add(2, ("h", "t", 0), offset(7))
    assert effects(pending, 1) == {KEY: 5, OTHER: 6}
    assert not pending.has(*KEY)
    assert list(pending.group_ids()) == ["h"]
    assert effects(pending, 1) == {}, "a second marker finds nothing"


def test_an_abort_marker_lets_them_vanish() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    assert effects(pending, 1, is_commit=False) == {}
    assert effects(pending, 1) == {}
    assert not pending


def test_the_last_of_a_producers_offsets_for_a_partition_counts() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.add(1, KEY, offset(3))
    assert effects(pending, 1) == {KEY: 3}


def test_a_plain_commit_that_came_later_is_not_overwritten_and_the_partition_stays_unstable() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.superseded(KEY)
    assert pending.has(*KEY)
    assert effects(pending, 1) == {}
    assert not pending.has(*KEY)


def test_what_a_transaction_commits_after_a_plain_commit_counts() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.superseded(KEY)
    pending.add(1, KEY, offset(6))
    assert effects(pending, 1) == {KEY: 6}


@pytest.mark.parametrize(("ends_first", "outcome"), [(1, [{KEY: 5}, {KEY: 7}]), (2, [{KEY: 7}, {}])])
def test_of_two_transactions_the_offset_later_in_the_log_wins_whichever_ends_first(
    ends_first: int, outcome: list[dict[tuple[str, str, int], int]]
) -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.add(2, KEY, offset(7))
    assert [effects(pending, ends_first), effects(pending, 3 - ends_first)] == outcome


def test_a_tombstone_takes_the_pending_offset_with_it() -> None:
    pending = PendingOffsets()
    pending.add(1, KEY, offset(5))
    pending.add(2, KEY, offset(6))
    pending.add(2, OTHER, offset(8))
    pending.forget(KEY)
    assert not pending.has(*KEY)
    assert effects(pending, 1) == {}
    assert effects(pending, 2) == {OTHER: 8}


def test_the_log_alone_tells_what_is_pending() -> None:
    play = Playbook()
    play.commit_in_transaction(1, {("t", 0): 5, ("t", 1): 5})
    play.commit_in_transaction(2, {("t", 2): 6})
    play.commit({("t", 1): 9})
    play.end_transaction(2, is_commit=False)
    for shard in (play.shard, play.reloaded()):
        assert shard.offsets.pending("g") == {("t", 0), ("t", 1)}
        shard.replay_marker(1, is_commit=True)
        assert {p: o.offset for p, o in shard.offsets.committed("g")["t"].items()} == {0: 5, 1: 9}
