"""Leadership, the in-sync set and the high watermark, on a real log."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.schema import Records
from ottla.replication.partition import ACKS_ALL, Appending, AppendQueue, Leadership, Partition
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import AppendInfo, Log
from ottla.storage.log_config import LogConfig

T = TypeVar("T")

ALONE = Leadership(leader_id=1, leader_epoch=0, replicas=(1,), in_sync=(1,), partition_epoch=0)
TRIO = Leadership(leader_id=1, leader_epoch=0, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=0)


def make(tmp_path: Path, leadership: Leadership, queue: AppendQueue | None = None, /, **settings: int) -> Partition:
    config = replace(LogConfig(), **settings)  # type: ignore[arg-type]
    log = Log(OsFileSystem(tmp_path), tmp_path / "orders-0", config, now_ms=0)
    return Partition("orders", 0, bytes(16), 1, log, leadership, queue)


def batch_of_one() -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp_ms=1)
    return bytes(builder.build())


def append(partition: Partition, acks: int = 1) -> AppendInfo:
    batch = batch_of_one()
    return partition.append(batch, validate_client_batch(batch, partition.log.config), acks, 1)


def code_of(refused: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return refused.value.code


def test_a_leader_alone_in_sync_commits_as_it_appends(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    info = append(partition, ACKS_ALL)
    assert partition.is_committed(info.last_offset)


def test_the_high_watermark_waits_for_the_slowest_in_sync_replica(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    append(partition)
    append(partition)
    assert partition.log.high_watermark == 0
    partition.follower_fetched(2, 2)
    assert partition.log.high_watermark == 0
    partition.follower_fetched(3, 1)
    assert partition.log.high_watermark == 1


def test_a_replica_that_left_the_in_sync_set_holds_nobody_up(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    append(partition)
    partition.follower_fetched(2, 1)
    partition.apply(replace(TRIO, in_sync=(1, 2), partition_epoch=1))
    assert partition.log.high_watermark == 1


def test_a_fetch_of_a_broker_that_is_no_replica_moves_nothing(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, replicas=(1, 2), in_sync=(1, 2)))
    append(partition)
    partition.follower_fetched(9, 1)
    assert partition.log.high_watermark == 0


def test_acks_all_is_refused_below_min_insync_replicas_before_anything_is_written(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, min_insync_replicas=2)
    with pytest.raises(ApiError) as refused:
        append(partition, ACKS_ALL)
    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0
    append(partition, acks=1)
    assert partition.log.log_end_offset == 1


def test_a_follower_refuses_to_append(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, leader_id=2))
    with pytest.raises(ApiError, match="broker 2 leads it") as refused:
        append(partition)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("client_epoch", "code"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_clients_of_another_epoch_are_refused(tmp_path: Path, client_epoch: int, code: ErrorCode) -> None:
    partition = make(tmp_path, replace(ALONE, leader_epoch=5))
    partition.check_leader_epoch(5)
    partition.check_leader_epoch(-1)
    with pytest.raises(ApiError) as refused:
        partition.check_leader_epoch(client_epoch)
    assert code_of(refused) == code


def test_a_new_leader_writes_its_epoch_into_its_batches(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append(partition)
    partition.apply(replace(ALONE, leader_epoch=3, partition_epoch=1))
    append(partition)
    assert partition.log.end_offset_for_epoch(0) == (0, 1)
    assert partition.log.end_offset_for_epoch(3) == (3, 2)


def test_watchers_hear_of_committed_bytes_and_of_lost_leadership(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    heard: list[int] = []
    partition.watch(heard.append)
    append(partition)
    assert len(heard) == 1
    assert heard[0] > 61
    partition.apply(replace(ALONE, leader_id=2, leader_epoch=1, partition_epoch=1))
    assert heard[1:] == [0]
    partition.unwatch(heard.append)


def test_readers_are_told_of_a_new_epoch_of_the_same_leader(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    told: list[int] = []
    partition.watch(told.append)
    partition.apply(replace(ALONE, leader_epoch=1, partition_epoch=1))
    assert told == [0]


def test_readers_are_told_once_that_the_oldest_records_went(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append(partition)
    told: list[int] = []
    partition.watch(told.append)
    partition.tell_log_start()
    assert told == []
    partition.log.increment_log_start_offset(1)
    partition.tell_log_start()
    partition.tell_log_start()
    assert told == [0]


class HandQueue:
    """Appends when it is told to, and settles when it is told to."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], Callable[[], None]]] = []
        self._appended: list[Callable[[], None]] = []

    def put(self, work: Callable[[Records], T], records: Records, settle: Callable[[T], None]) -> Appending[T]:
        def run() -> Callable[[], None]:
            outcome = work(records)
            return lambda: settle(outcome)

        self._waiting.append(run)
        unused: Any = None
        return unused

    def append_all(self) -> None:
        self._appended += [run() for run in self._waiting]
        self._waiting.clear()

    def settle_one(self) -> None:
        self._appended.pop(0)()


def enqueue(partition: Partition, queue: HandQueue, acks: int = 1) -> None:
    batch = batch_of_one()
    partition.queue_append(queue, batch, validate_client_batch(batch, partition.log.config), acks, 1)


def test_what_a_thread_appended_is_committed_as_it_is_settled(tmp_path: Path) -> None:
    queue = HandQueue()
    partition = make(tmp_path, ALONE, queue)
    readable: list[int] = []
    partition.watch(readable.append)
    enqueue(partition, queue)
    enqueue(partition, queue, ACKS_ALL)
    assert partition.log.log_end_offset == 0
    queue.append_all()
    queue.settle_one()
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (2, 0), "that was the leader's epoch"
    queue.settle_one()
    assert partition.log.high_watermark == 1
    queue.settle_one()
    assert partition.log.high_watermark == 2
    assert readable == [len(batch_of_one())] * 2


def test_an_epoch_begins_behind_what_was_still_waiting_to_be_appended_in_the_one_before(tmp_path: Path) -> None:
    queue = HandQueue()
    partition = make(tmp_path, ALONE, queue)
    enqueue(partition, queue)
    partition.apply(replace(ALONE, leader_epoch=3, partition_epoch=1))
    enqueue(partition, queue)
    queue.append_all()
    assert partition.log.end_offset_for_epoch(0) == (0, 1)
    assert partition.log.end_offset_for_epoch(3) == (3, 2)


def test_what_is_refused_is_not_put_into_the_queue(tmp_path: Path) -> None:
    queue = HandQueue()
    partition = make(tmp_path, ALONE, queue, min_insync_replicas=2)
    with pytest.raises(ApiError) as refused:
        enqueue(partition, queue, ACKS_ALL)
    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS
    with pytest.raises(ApiError):
        partition.queue_own(queue, batch_of_one(), 1)
    partition.close()
    with pytest.raises(ApiError) as refused:
        enqueue(partition, queue)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    queue.append_all()
    assert partition.log.log_end_offset == 0
