"""Random lives of a group's offsets: plain commits, commits inside transactions, markers, deletions, reloads.

The model is a list of what was written, in order, and the plainest reading of it: what OffsetFetch must say follows
from the committed part of the list alone. A plain commit counts where it stands; one of a transaction stands where it
was written and counts from the moment its commit marker is there; of all that count, the one that stands last wins; a
tombstone wipes out everything before it, pending or not.

The log commits when it likes; what is written and not committed makes its partition unstable. A record of a
transaction may be refused after it was taken for appended, as in a log whose appends wait for their disk. At any time
another broker may load the partition from the log and go on.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from unit.coordinator.group.playbook import Playbook

GROUPS = ("g", "h")
PARTITIONS = range(2)
PRODUCERS = st.integers(1, 2)


class Written(NamedTuple):
    """One entry of the model's log: an offset, a tombstone (no offset) or a marker (no partition)."""

    group: str = ""
    partition: int = -1
    offset: int | None = None
    producer: int | None = None
    is_commit: bool | None = None


def pending_at_end(log: list[Written], group: str, partition: int) -> set[int]:
    """The producers whose transaction may still change the offset."""
    pending: set[int] = set()
    for entry in log:
        if entry.is_commit is not None and entry.producer is not None:
            pending.discard(entry.producer)
        elif (entry.group, entry.partition) == (group, partition):
            if entry.offset is None:
                pending.clear()
            elif entry.producer is not None:
                pending.add(entry.producer)
    return pending


def offset_at_end(log: list[Written], group: str, partition: int) -> int:
    """What a reader of the whole list takes for the offset."""
    result = -1
    for place, entry in enumerate(log):
        if (entry.group, entry.partition) != (group, partition):
            continue
        if entry.offset is None:
            result = -1
        elif entry.producer is None or took_effect(log, place):
            result = entry.offset
    return result


def took_effect(log: list[Written], place: int) -> bool:
    """Whether the offset of a transaction was neither wiped out nor aborted before its commit marker came."""
    offset = log[place]
    for entry in log[place + 1 :]:
        if entry.is_commit is not None and entry.producer == offset.producer:
            return entry.is_commit
        if (entry.group, entry.partition) == (offset.group, offset.partition) and entry.offset is None:
            return False
    return False


class OffsetLives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.play = Playbook()
        self.written: list[Written] = []
        # How much of it is committed.
        self.committed = 0
        self.next_offset = 100
        # Of the appends that are in flight: where they end in the log, and where in the model.
        self.refusable: list[tuple[int, int, int]] = []

    def _wrote(self, *entries: Written) -> None:
        self.written += entries
        assert len(self.written) == len(self.play.log)
        if not self.play.holds_commits:
            self._all_committed()

    def _all_committed(self) -> None:
        self.committed = len(self.written)
        self.refusable.clear()

    def _new_offsets(self, partitions: set[int]) -> dict[tuple[str, int], int]:
        offsets = {}
        for partition in sorted(partitions):
            self.next_offset += 1
            offsets["t", partition] = self.next_offset
        return offsets

    @rule(group=st.sampled_from(GROUPS), partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1))
    def plain_commit(self, group: str, partitions: set[int]) -> None:
        offsets = self._new_offsets(partitions)
        self.play.commit(offsets, group=group)
        self._wrote(*(Written(group, partition, offset) for (_, partition), offset in offsets.items()))

    @rule(
        producer=PRODUCERS, group=st.sampled_from(GROUPS), partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1)
    )
    def transactional_commit(self, producer: int, group: str, partitions: set[int]) -> None:
        offsets = self._new_offsets(partitions)
        begin = len(self.written)
        self.play.commit_in_transaction(producer, offsets, group=group)
        if self.play.holds_commits:
            self.refusable.append((begin, len(self.play.log) - 1, len(self.play.log)))
        self._wrote(*(Written(group, partition, offset, producer) for (_, partition), offset in offsets.items()))

    @rule(producer=PRODUCERS, is_commit=st.booleans())
    def marker(self, producer: int, is_commit: bool) -> None:
        self.play.end_transaction(producer, is_commit=is_commit)
        self._wrote(Written(producer=producer, is_commit=is_commit))

    @rule(partition=st.sampled_from(PARTITIONS), order=st.permutations([1, 2]))
    def transactions_meet(self, partition: int, order: list[int]) -> None:
        """Few random lives would have two transactions at one partition and commit both."""
        for producer in (1, 2):
            self.transactional_commit(producer, "g", {partition})
        for producer in order:
            self.marker(producer, True)

    @rule(group=st.sampled_from(GROUPS), partition=st.sampled_from(PARTITIONS))
    def offset_is_deleted(self, group: str, partition: int) -> None:
        if group not in self.play.shard.groups:
            return
        request = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=partition)])
            ],
        )
        self._append_tombstones(iter([self.play.shard.deletions.delete_offsets(request).records]))

    @rule(group=st.sampled_from(GROUPS))
    def group_is_deleted(self, group: str) -> None:
        self._append_tombstones(iter([self.play.shard.deletions.delete_groups([group]).records]))

    @rule()
    def topic_is_deleted(self) -> None:
        self._append_tombstones(self.play.shard.topics_deleted({"t"}))

    def _append_tombstones(self, portions: Iterator) -> None:  # type: ignore[type-arg]
        for records in portions:
            self.play.append(records)
            self._wrote(*(Written(record.group_id, getattr(record, "partition", -1)) for record in records))

    @rule()
    def offsets_expire(self) -> None:
        """Nothing is old enough: groups that were left with nothing go, and no offset."""
        before = [self._expected(group, partition) for group in GROUPS for partition in PARTITIONS]
        for records in self.play.shard.expire_offsets(self.play.now_ms):
            assert all(not hasattr(record, "partition") for record in records)
            self.play.append(records)
            self._wrote(*(Written(record.group_id) for record in records))
        assert before == [self._expected(group, partition) for group in GROUPS for partition in PARTITIONS]

    @rule()
    def commits_stall(self) -> None:
        self.play.holds_commits = True

    @precondition(lambda self: self.play.holds_commits)
    @rule()
    def commits_catch_up(self) -> None:
        self.play.holds_commits = False
        self.play.commit_all()
        self._all_committed()

    @precondition(lambda self: self.refusable)
    @rule()
    def the_last_append_is_refused(self) -> None:
        begin, place, end = self.refusable[-1]
        if end != len(self.play.log):
            return
        self.refusable.pop()
        self.play.shard.refused(place)
        del self.play.log[begin:]
        del self.written[begin:]

    @rule()
    def another_broker_takes_over(self) -> None:
        """It has what is committed; the rest is lost."""
        del self.play.log[self.committed :]
        del self.written[self.committed :]
        self.refusable.clear()
        self.play.shard = self.play.reloaded()

    def _expected(self, group: str, partition: int) -> tuple[int, bool]:
        log = self.written[: self.committed]
        in_flight = any((w.group, w.partition) == (group, partition) for w in self.written[self.committed :])
        return offset_at_end(log, group, partition), in_flight or bool(pending_at_end(log, group, partition))

    @invariant()
    def offset_fetch_says_what_the_log_says(self) -> None:
        shard = self.play.shard
        asked = [OffsetFetchRequestTopics(name="t", partition_indexes=list(PARTITIONS))]
        for group in GROUPS:
            expected = [self._expected(group, partition) for partition in PARTITIONS]
            rows = shard.fetch_offsets(group, asked)[0].partitions
            assert [row.committed_offset for row in rows] == [offset for offset, _ in expected]
            assert all(row.error_code == ErrorCode.NONE for row in rows)
            rows = shard.fetch_offsets(group, asked, require_stable=True)[0].partitions
            unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
            assert [(row.committed_offset, row.error_code) for row in rows] == [
                (-1, unstable) if is_unstable else (offset, ErrorCode.NONE) for offset, is_unstable in expected
            ]
            everything = {
                row.partition_index: row.error_code for _, row in shard.all_offsets(group, require_stable=True)
            }
            assert everything == {
                partition: unstable if is_unstable else ErrorCode.NONE
                for partition, (offset, is_unstable) in zip(PARTITIONS, expected, strict=True)
                if offset != -1
            }

    @invariant()
    def a_group_with_offsets_exists(self) -> None:
        for group in GROUPS:
            if any(offset != -1 or pending for offset, pending in (self._committed_state(group))):
                assert group in self.play.reloaded().groups

    def _committed_state(self, group: str) -> list[tuple[int, bool]]:
        return [
            (offset_at_end(self.written, group, partition), bool(pending_at_end(self.written, group, partition)))
            for partition in PARTITIONS
        ]

    @invariant()
    def a_reader_of_the_log_comes_to_the_same_state(self) -> None:
        if self.committed == len(self.written):
            loaded, live = self.play.reloaded().offsets, self.play.shard.offsets
            for group in GROUPS:
                assert loaded.committed(group) == live.committed(group)
                assert loaded.pending(group) == live.pending(group)


OffsetLives.TestCase.settings = settings(max_examples=200, stateful_step_count=30)
TestOffsetLives = OffsetLives.TestCase
