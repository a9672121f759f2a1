"""A follower's log under its leader's answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.record_batch import PLACEMENT
from ottla.protocol.records import CorruptRecords
from ottla.protocol.schema import Records
from ottla.replication.append_queue import Appending
from ottla.replication.follower_state import LeaderAnswer, StartAnew, Truncate
from ottla.replication.following import Cut, Following
from ottla.replication.leader_state import Leadership
from ottla.replication.partition import Partition
from ottla.storage.leader_epochs import EpochEnd
from unit.replication.partitions import TRIO, append, make, to_leader

T = TypeVar("T")
FOLLOWED = Leadership(leader_id=2, leader_epoch=3, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=3)


class Queue:
    """The queue of a disk that works when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def put(
        self, work: Callable[[Records], T], records: Records, settle: Callable[[T], None], *, is_own: bool = False
    ) -> Appending[T]:
        del is_own
        self.waiting.append(lambda: settle(work(records)))
        # Nobody here waits for it.
        done: Any = object()
        return done

    def run(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work()


def batch(offset: int, epoch: int = 3, count: int = 1) -> bytes:
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(b"k", b"v", timestamp_ms=1)
    built = bytearray(builder.build())
    PLACEMENT.pack_into(built, 0, offset, len(built) - 12, epoch)
    return bytes(built)


def following_of(partition: Partition) -> Following:
    assert partition.following is not None
    return partition.following


def take(following: Following, records: bytes = b"", high_watermark: int = 0, log_start_offset: int = 0) -> object:
    asked = following.position
    assert asked is not None
    return following.answered(asked, LeaderAnswer(high_watermark, log_start_offset), records, now_ms=1)


def carry_out(following: Following, cut: Cut) -> None:
    work = following.begin_cut(cut, now_ms=1)
    assert callable(work)
    assert following.position is None, "nothing is asked while the log is cut"
    work()
    following.was_cut()


def place(following: Following) -> tuple[int, int]:
    assert following.position is not None
    return following.position.fetch_offset, following.position.last_fetched_epoch


def test_a_follower_appends_and_takes_over_the_watermark_as_far_as_it_has_come(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    assert place(following) == (0, -1)
    assert take(following, batch(0, count=3) + batch(3, count=2), high_watermark=9) is None
    assert place(following) == (5, 3)
    assert partition.log.high_watermark == 5
    take(following, b"", high_watermark=9)
    assert partition.log.high_watermark == 5


def test_the_log_start_follows_the_leaders_and_never_passes_the_watermark(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    take(following_of(partition), batch(0, count=10), high_watermark=4, log_start_offset=6)
    assert partition.log.log_start_offset == 4
    take(following_of(partition), b"", high_watermark=10, log_start_offset=6)
    assert partition.log.log_start_offset == 6


def test_a_divergent_follower_cuts_its_log_and_asks_again_from_there(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, leader_epoch=1))
    append(partition)
    to_leader(partition)
    append(partition)
    partition.apply(FOLLOWED)
    following = following_of(partition)
    asked = following.position
    assert asked is not None
    assert place(following) == (2, 2)
    cut = following.answered(asked, LeaderAnswer(9, 1, EpochEnd(1, 1)), b"", now_ms=1)
    assert cut == Truncate(1)
    assert (partition.log.high_watermark, partition.log.log_start_offset) == (0, 0), "divergence moves neither"
    carry_out(following, Truncate(1))
    assert place(following) == (1, 1)
    assert partition.log.log_end_offset == 1


def test_a_follower_that_its_leader_has_left_behind_starts_anew(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    take(following, batch(0, epoch=2))
    asked = following.position
    assert asked is not None
    cut = following.out_of_range(asked, 50, 60)
    assert cut == StartAnew(50)
    carry_out(following, StartAnew(50))
    assert place(following) == (50, -1)
    assert partition.log.leader_epochs.entries == []


def test_without_epochs_only_what_is_committed_is_kept(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    for _ in range(3):
        append(partition)
    partition.log.update_high_watermark(1)
    partition.log.leader_epochs.clear()
    partition.apply(FOLLOWED)
    following = following_of(partition)
    assert following.position is None
    assert following.first_cut == Truncate(1)
    carry_out(following, following.first_cut)
    assert following.first_cut is None
    assert place(following) == (1, -1)


def test_damaged_records_change_nothing(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords):
        take(following, bytes(damaged))
    assert place(following) == (0, -1)
    take(following, batch(0))
    assert place(following) == (1, 3)


def test_a_queued_append_holds_the_position_back_until_it_is_done(tmp_path: Path) -> None:
    queue = Queue()
    partition = make(tmp_path, FOLLOWED, queue)
    following = following_of(partition)
    assert following.position is None, "appends of the epoch before may be on their way"
    queue.run()
    take(following, batch(0), high_watermark=1)
    assert following.position is None
    queue.run()
    assert place(following) == (1, 3)
    assert partition.log.high_watermark == 1


def test_what_was_queued_before_a_change_of_leader_moves_no_watermark_after_it(tmp_path: Path) -> None:
    queue = Queue()
    partition = make(tmp_path, FOLLOWED, queue)
    queue.run()
    take(following_of(partition), batch(0), high_watermark=1)
    to_leader(partition)
    assert partition.following is None
    queue.run()
    assert partition.log.log_end_offset == 1
    assert partition.log.high_watermark == 0


def test_a_partition_without_a_leader_follows_nobody(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(FOLLOWED, leader_id=-1))
    assert partition.following is None
    partition.apply(replace(FOLLOWED, leader_epoch=4))
    assert following_of(partition).leader_epoch == 4


def test_a_closed_partition_follows_nobody_until_it_is_opened_again(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    partition.close()
    assert partition.following is None
    assert following.position is None
    partition.reopen()
    assert place(following_of(partition)) == (0, -1)
