"""The groups of one `__consumer_offsets` partition: where requests, deadlines, records and the log meet.

Life of a shard: `replay` every record of the partition in order, then `loaded`; from then on it serves requests until
`unload`, which answers parked requests with NOT_COORDINATOR.

Writing. Operations return records (or leave `Write` effects); the shell appends them and calls `appended`, or
`append_failed`. It numbers its writes in the order of the log, because it does not know their offsets while they wait
for a disk. When the high watermark passes a write it calls `committed`, and everything up to that write takes effect in
log order; if the log refuses one after all, it calls `refused`. Membership changes in memory at once, because clients
rebuild it anyway if it is lost; offsets and assignments go to clients only once they are committed.

Transactions. Offsets of a transaction are appended in a batch of its producer, so that the log can refuse a fenced one;
`end_transaction` follows once the producer's marker is in the log (`pending_offsets`).
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.deletion import Deletions
from ottla.coordinator.group.effects import (
    AssignmentStored,
    Effects,
    GroupCreated,
    Outcome,
    StaticMemberReplaced,
)
from ottla.coordinator.group.join import Join, JoinContext, Joins
from ottla.coordinator.group.leave import Leaves
from ottla.coordinator.group.loading import group_from_record
from ottla.coordinator.group.offset_commit import OffsetCommits
from ottla.coordinator.group.offset_fetch import all_offsets, fetch_offsets
from ottla.coordinator.group.offsets import OffsetStore
from ottla.coordinator.group.rebalance import JOIN_PHASE, SESSION, Rebalances, TimerKey
from ottla.coordinator.group.records import GroupCoordinatorRecord, GroupRecord, OffsetRecord
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.group.sync import Syncs
from ottla.coordinator.group.txn_offset_commit import TxnOffsetCommits
from ottla.coordinator.state_machine import CoordinatorResult
from ottla.coordinator.timers import TimerTable
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group_request import JoinGroupRequest
from ottla.protocol.messages.leave_group_request import MemberIdentity
from ottla.protocol.messages.leave_group_response import MemberResponse
from ottla.protocol.messages.offset_commit_request import OffsetCommitRequest
from ottla.protocol.messages.offset_commit_response import OffsetCommitResponse
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from ottla.protocol.messages.offset_fetch_response import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from ottla.protocol.messages.sync_group_request import SyncGroupRequest
from ottla.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from ottla.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from ottla.protocol.record_batch import NO_PRODUCER_ID


class _Append(NamedTuple):
    """An append that is not committed yet."""

    write_number: int
    records: Sequence[GroupCoordinatorRecord]
    outcome: Outcome | None = None
    # Set for the records of a transaction, and for its marker.
    producer_id: int = NO_PRODUCER_ID
    # Set for a marker: how the transaction ended.
    is_commit: bool | None = None


class GroupShard:
    """The state machine of one partition."""

    def __init__(self, config: GroupConfig) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore()
        self.timers: TimerTable[TimerKey] = TimerTable()
        self.effects = Effects()
        self.deletions = Deletions(config, self.groups, self.offsets)
        self._config = config
        self._rebalances = Rebalances(config, self.timers, self.effects)
        self._joins = Joins(config, self.groups, self._rebalances, self.timers, self.effects)
        self._syncs = Syncs(self.groups, self._rebalances, self.timers, self.effects)
        self._leaves = Leaves(self.groups, self._rebalances)
        self._offset_commits = OffsetCommits(config, self.groups, self._rebalances)
        self._txn_offset_commits = TxnOffsetCommits(config, self.groups)
        self._in_flight: deque[_Append] = deque()

    def __len__(self) -> int:
        """How many groups it knows."""
        return len(self.groups)

    # Requests

    def join(self, request: JoinGroupRequest, context: JoinContext, token: object, now_ms: int) -> None:
        self._joins.handle(Join(request, context, token, now_ms))

    def sync(self, request: SyncGroupRequest, token: object) -> None:
        self._syncs.handle(request, token)

    def heartbeat(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int, now_ms: int
    ) -> ErrorCode:
        return self._syncs.heartbeat(group_id, member_id, group_instance_id, generation_id, now_ms)

    def leave(self, group_id: str, leaving: Sequence[MemberIdentity], now_ms: int) -> list[MemberResponse]:
        return self._leaves.handle(group_id, leaving, now_ms)

    def commit_offsets(
        self, request: OffsetCommitRequest, api_version: int, now_ms: int
    ) -> CoordinatorResult[OffsetRecord, OffsetCommitResponse]:
        return self._offset_commits.handle(request, api_version, now_ms)

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, now_ms: int
    ) -> CoordinatorResult[OffsetRecord, TxnOffsetCommitResponse]:
        return self._txn_offset_commits.handle(request, now_ms)

    def fetch_offsets(
        self, group_id: str, topics: Sequence[OffsetFetchRequestTopics], *, require_stable: bool = False
    ) -> list[OffsetFetchResponseTopics]:
        return fetch_offsets(self.offsets, group_id, topics, require_stable=require_stable)

    def all_offsets(
        self, group_id: str, *, require_stable: bool = False
    ) -> Iterator[tuple[str, OffsetFetchResponsePartitions]]:
        return all_offsets(self.offsets, group_id, require_stable=require_stable)

    def expire_offsets(self, now_ms: int) -> Iterator[list[GroupCoordinatorRecord]]:
        return self.deletions.expire(now_ms)

    def topics_deleted(self, topics: Collection[str]) -> Iterator[list[GroupCoordinatorRecord]]:
        return self.deletions.delete_topics(topics)

    # Deadlines

    def tick(self, now_ms: int) -> None:
        """Act on every deadline that has come."""
        for kind, group_id, member_id in self.timers.expired(now_ms):
            group = self.groups.get(group_id)
            if group is None:
                continue
            if kind == SESSION:
                self._rebalances.session_expired(group, member_id, now_ms)
            elif kind == JOIN_PHASE:
                self._rebalances.join_phase_expired(group, now_ms)
            else:
                self._rebalances.sync_phase_expired(group, now_ms)

    # The log

    def appended(
        self,
        records: Sequence[GroupCoordinatorRecord],
        outcome: Outcome | None,
        write_number: int,
        now_ms: int,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """The records are appended by that write; with a producer id, in its transaction."""
        self._put_in_flight(_Append(write_number, records, outcome, producer_id))
        for record in records:
            if isinstance(record, OffsetRecord):
                self.offsets.appended(record, producer_id)
                if record.value is not None and record.group_id not in self.groups:
                    self.groups[record.group_id] = ClassicGroup(record.group_id)
            elif record.value is None:
                self._forget_group(record.group_id, now_ms)

    def marker_appended(self, producer_id: int, write_number: int, *, is_commit: bool) -> None:
        """The marker that ends a producer's transaction is appended by that write."""
        self._put_in_flight(_Append(write_number, (), None, producer_id, is_commit))

    def refused(self, write_number: int) -> None:
        """The log refused, after all, the offsets or the marker of that write."""
        append = next(append for append in self._in_flight if append.write_number == write_number)
        self._in_flight.remove(append)
        for record in append.records:
            assert isinstance(record, OffsetRecord), "group metadata cannot be taken back"
            self.offsets.withdraw(record, append.producer_id)
            group = self.groups.get(record.group_id)
            if group is not None and group.is_unused and not self.offsets.has_any(record.group_id):
                # This record had created it.
                del self.groups[record.group_id]

    def _put_in_flight(self, append: _Append) -> None:
        assert not self._in_flight or self._in_flight[-1].write_number < append.write_number, "out of order"
        self._in_flight.append(append)

    def append_failed(self, outcome: Outcome | None, error: ErrorCode, now_ms: int) -> None:
        """The log refused the records: undo what depended on them."""
        if isinstance(outcome, AssignmentStored):
            self._syncs.assignment_not_stored(outcome, error, now_ms)
        elif isinstance(outcome, StaticMemberReplaced):
            self._joins.static_member_not_stored(outcome, error, now_ms)
        elif isinstance(outcome, GroupCreated):
            group = self.groups.get(outcome.group_id)
            if group is not None:
                self._release_parked(group, error)
                self._forget_group(outcome.group_id, now_ms)

    def committed(self, write_number: int, now_ms: int) -> None:
        """Everything up to and including that write is committed and takes effect."""
        in_flight = self._in_flight
        while in_flight and in_flight[0].write_number <= write_number:
            append = in_flight.popleft()
            for record in append.records:
                if isinstance(record, OffsetRecord):
                    self.offsets.commit(record, append.producer_id)
            if append.is_commit is not None:
                self.offsets.end_transaction(append.producer_id, is_commit=append.is_commit)
            if isinstance(append.outcome, AssignmentStored):
                self._syncs.assignment_stored(append.outcome, now_ms)
            elif isinstance(append.outcome, StaticMemberReplaced):
                self._joins.static_member_stored(append.outcome)

    def replay(self, record: GroupCoordinatorRecord, producer_id: int = NO_PRODUCER_ID) -> None:
        """Apply one record of the log while loading."""
        if isinstance(record, GroupRecord):
            if record.value is None:
                self.groups.pop(record.group_id, None)
            else:
                self.groups[record.group_id] = group_from_record(record.group_id, record.value)
            return
        self.offsets.replay(record, producer_id)
        if record.value is not None and record.group_id not in self.groups:
            self.groups[record.group_id] = ClassicGroup(record.group_id)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a marker of the log while loading."""
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    def loaded(self, now_ms: int) -> None:
        """The log is read: members get a full session to report back, and groups larger than the limit rebalance."""
        for group in self.groups.values():
            for member in group.members.values():
                self._rebalances.extend_session(group, member, now_ms)
            if len(group.members) > self._config.group_max_size:
                self._rebalances.prepare(group, "the group is larger than group.max.size", now_ms)

    def unload(self) -> None:
        """Another broker serves these groups from now on."""
        for group in self.groups.values():
            self._release_parked(group, ErrorCode.NOT_COORDINATOR)

    def _release_parked(self, group: ClassicGroup, error: ErrorCode) -> None:
        for member in group.members.values():
            self._rebalances.release_tokens(group, member, error, member.member_id)

    def _forget_group(self, group_id: str, now_ms: int) -> None:
        group = self.groups.pop(group_id, None)
        if group is not None:
            self._rebalances.cancel_deadlines(group)
            group.transition_to(GroupState.DEAD, now_ms)
