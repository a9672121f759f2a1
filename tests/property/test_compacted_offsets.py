"""Compaction takes nothing from groups: the offsets topic says the same before it and after it.

Random histories of commits, transactions, markers and tombstones go into a real log that is rolled and compacted now
and then, sometimes long after, so that tombstones and markers may go too. The batches as they were written are kept
beside it. Whoever loads the compacted log has the same offsets, and the same pending ones, as who loads them all.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cleaners import due
from ottla.broker.coordinators.groups.record_batches import encode_batch, encode_transactional_batch
from ottla.broker.coordinators.groups.shard_driver import load_shard
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import CommittedOffset, OffsetRecord
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.control_records import end_txn_batch
from ottla.storage.compaction import compact
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint

START_MS = 1_700_000_000_000
DELETE_RETENTION_MS = 1_000
GROUPS = ("g", "h")

PARTITIONS = st.sets(st.integers(0, 2), min_size=1)
PRODUCERS = st.integers(1, 2)
STEPS = st.one_of(
    st.tuples(st.just("plain"), st.sampled_from(GROUPS), PARTITIONS),
    st.tuples(st.just("transactional"), PRODUCERS, st.sampled_from(GROUPS), PARTITIONS),
    st.tuples(st.just("marker"), PRODUCERS, st.booleans()),
    st.tuples(st.just("marker"), PRODUCERS, st.booleans()),
    st.tuples(st.just("tombstone"), st.sampled_from(GROUPS), PARTITIONS),
    st.tuples(st.just("compact"), st.sampled_from([0, 10 * DELETE_RETENTION_MS])),
)
# The first sets the time from which tombstones and markers may go, the second is later; each needs something to do.
TWO_MORE_PASSES = [("plain", "h", {0}), ("compact", 10 * DELETE_RETENTION_MS)] * 2


class History:
    """A compacted log, and all that was ever written to it."""

    def __init__(self, home: Path) -> None:
        self._disk = OsFileSystem(home)
        config = LogConfig(
            cleanup_policy=frozenset({"compact"}),
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=DELETE_RETENTION_MS,
        )
        self.log = Log(
            self._disk,
            home / "__consumer_offsets-0",
            config,
            LogCheckpoint(was_clean=True),
            now_ms=START_MS,
        )
        self.written: list[bytearray] = []
        self._now_ms = START_MS
        self._clean_to = 0
        self._next_offset = 0

    def plain(self, group: str, partitions: set[int]) -> None:
        self._append(encode_batch(self._offsets(group, partitions), self._now_ms))

    def transactional(self, producer_id: int, group: str, partitions: set[int]) -> None:
        self._append(encode_transactional_batch(self._offsets(group, partitions), self._now_ms, producer_id, 0))

    def tombstone(self, group: str, partitions: set[int]) -> None:
        records = [OffsetRecord(group, "t", partition, None) for partition in sorted(partitions)]
        self._append(encode_batch(records, self._now_ms))

    def marker(self, producer_id: int, is_commit: bool) -> None:
        self._append(
            end_txn_batch(
                producer_id=producer_id,
                producer_epoch=0,
                is_commit=is_commit,
                coordinator_epoch=0,
                timestamp_ms=self._now_ms,
            )
        )

    def compact(self, pause_ms: int) -> None:
        self._now_ms += pause_ms
        self.log.roll(self._now_ms)
        cleanable = due(self.log, self._clean_to, self._now_ms)
        if cleanable is not None:
            self._clean_to = compact(self.log, self._disk, cleanable, self._now_ms).clean_to

    def batches(self) -> Iterator[memoryview]:
        """What is left in the log."""
        log = self.log
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            read = log.read(
                offset, 1 << 20, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
            )
            if read.records:
                yield memoryview(read.records)
            offset = read.next_offset

    def _offsets(self, group: str, partitions: set[int]) -> list[OffsetRecord]:
        self._next_offset += 1
        return [
            OffsetRecord(group, "t", partition, CommittedOffset(self._next_offset, -1, "", self._now_ms))
            for partition in sorted(partitions)
        ]

    def _append(self, batch: bytearray) -> None:
        self.written.append(bytearray(batch))
        self.log.append_own_as_leader(batch, leader_epoch=0, now_ms=self._now_ms)
        self.log.update_high_watermark(self.log.log_end_offset)


def state(shard: GroupShard) -> list[object]:
    return [(shard.offsets.committed(group), shard.offsets.pending(group)) for group in GROUPS]


@settings(max_examples=150)
@given(steps=st.lists(STEPS, min_size=5, max_size=60))
def test_a_compacted_log_tells_the_same_offsets(steps: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        history = History(Path(home))
        for kind, *arguments in [*steps, *TWO_MORE_PASSES]:
            getattr(history, kind)(*arguments)
            if kind == "compact":
                everything = load_shard(GroupConfig(), 0, map(memoryview, history.written))
                assert state(load_shard(GroupConfig(), 0, history.batches())) == state(everything)
        history.log.close(START_MS)
