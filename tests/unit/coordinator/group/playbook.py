"""A group shard under test: says what members say, keeps every answer, and plays the shell and the log.

After every step the invariants of all groups are checked, and that no parked request is lost: each token that has no
answer yet waits in exactly one member.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.effects import Respond, Write
from ottla.coordinator.group.join import JoinContext
from ottla.coordinator.group.records import GroupCoordinatorRecord, decode_record, encode_record
from ottla.coordinator.group.shard import GroupShard
from ottla.coordinator.group.states import GroupState
from ottla.protocol.codec import encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group_request import MemberIdentity
from ottla.protocol.messages.leave_group_response import MemberResponse
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_commit_response import OffsetCommitResponse
from ottla.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from ottla.protocol.record_batch import NO_PRODUCER_ID

START_MS = 1_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str, version: int = 3) -> bytes:
    """Metadata as consumers send it."""
    return version.to_bytes(2) + encode(ConsumerProtocolSubscription(topics=topics), version)


class Entry(NamedTuple):
    """A record in the log; a marker has an outcome in place of key and value."""

    key: bytes = b""
    value: bytes | None = None
    producer_id: int = NO_PRODUCER_ID
    is_commit: bool | None = None


class Playbook:
    def __init__(self, **config: int) -> None:
        self.config = GroupConfig(**config)
        self.shard = GroupShard(self.config)
        self.now_ms = START_MS
        self.log: list[Entry] = []
        self.answers: dict[str, Any] = {}
        self.open_tokens: set[str] = set()
        # While set, records stay uncommitted until `commit_all`.
        self.holds_commits = False
        # While set, the log refuses appends with this error.
        self.append_error: ErrorCode | None = None
        self._count = 0

    # What clients say

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        version: int = 9,
        instance: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        client_id: str = "client",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> str:
        if protocols is None:
            protocols = {"range": subscription("t")}
        token = self._token("join")
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        )
        context = JoinContext(version, client_id, "/127.0.0.1", f"uuid{self._count}")
        self.shard.join(request, context, token, self.now_ms)
        self.settle()
        return token

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        group: str = "g",
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> str:
        token = self._token("sync")
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=data)
                for member, data in (assignments or {}).items()
            ],
        )
        self.shard.sync(request, token)
        self.settle()
        return token

    def heartbeat(self, member_id: str, generation: int, *, group: str = "g", instance: str | None = None) -> ErrorCode:
        code = self.shard.heartbeat(group, member_id, instance, generation, self.now_ms)
        self.settle()
        return code

    def leave(self, *member_ids: str, group: str = "g", instances: Sequence[str] = ()) -> list[MemberResponse]:
        leaving = [MemberIdentity(member_id=member_id) for member_id in member_ids]
        leaving += [MemberIdentity(group_instance_id=instance) for instance in instances]
        rows = self.shard.leave(group, leaving, self.now_ms)
        self.settle()
        return rows

    def commit(
        self,
        offsets: Mapping[tuple[str, int], int],
        *,
        group: str = "g",
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        metadata: str | None = "",
        version: int = 9,
        retention_ms: int = -1,
        topic_id: bytes = bytes(16),
    ) -> OffsetCommitResponse:
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=topic_id,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        result = self.shard.commit_offsets(request, version, self.now_ms)
        self.append(result.records)
        return result.response

    def commit_in_transaction(
        self,
        producer_id: int,
        offsets: Mapping[tuple[str, int], int],
        *,
        group: str = "g",
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        metadata: str | None = "",
    ) -> TxnOffsetCommitResponse:
        request = TxnOffsetCommitRequest(
            transactional_id=f"producer {producer_id}",
            producer_id=producer_id,
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
        )
        result = self.shard.commit_transactional_offsets(request, self.now_ms)
        self.append(result.records, producer_id)
        return result.response

    def end_transaction(self, producer_id: int, *, is_commit: bool = True) -> None:
        self.log.append(Entry(producer_id=producer_id, is_commit=is_commit))
        self.shard.marker_appended(producer_id, len(self.log) - 1, is_commit=is_commit)
        self._commit()
        self.settle()

    # What time and the log do

    def advance(self, duration_ms: int) -> None:
        """Let time pass; every deadline is served when it comes."""
        end_ms = self.now_ms + duration_ms
        while (next_ms := self.shard.timers.next_check_ms) is not None and next_ms <= end_ms:
            self.now_ms = max(self.now_ms, next_ms)
            self.shard.tick(self.now_ms)
            self.settle()
        self.now_ms = end_ms

    def append(self, records: Sequence[GroupCoordinatorRecord], producer_id: int = NO_PRODUCER_ID) -> None:
        if records:
            self.log += [Entry(*encode_record(record), producer_id) for record in records]
            self.shard.appended(records, None, len(self.log) - 1, self.now_ms, producer_id)
            self._commit()
        self.settle()

    def commit_all(self) -> None:
        self.shard.committed(len(self.log) - 1, self.now_ms)
        self.settle()

    def settle(self) -> None:
        while self.shard.effects:
            for effect in self.shard.effects.take():
                self._carry_out(effect)
        self.check()

    def check(self) -> None:
        parked: list[object] = []
        for group in self.shard.groups.values():
            group.assert_invariants()
            for member in group.members.values():
                parked += [token for token in (member.join_token, member.sync_token) if token is not None]
        assert len(parked) == len(set(parked)), "a token is parked twice"
        assert set(parked) == self.open_tokens, "a parked request is lost"

    def reloaded(self) -> GroupShard:
        """The shard as another broker would load it from the log."""
        shard = GroupShard(self.config)
        for key, value, producer_id, is_commit in self.log:
            if is_commit is not None:
                shard.replay_marker(producer_id, is_commit=is_commit)
            else:
                shard.replay(decode_record(key, value), producer_id)
        return shard

    # Whole passages

    def group(self, group: str = "g") -> ClassicGroup:
        return self.shard.groups[group]

    def new_member(self, **arguments: Any) -> tuple[str, str]:
        """Join twice, as clients since JoinGroup v4 do; returns the member id and the parked token."""
        refused = self.answers[self.join(**arguments)]
        assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return refused.member_id, self.join(refused.member_id, **arguments)

    def stable_group(self, size: int, **arguments: Any) -> list[str]:
        """A stable group of dynamic members, the leader first; each is assigned its own number."""
        joined = [self.new_member(**arguments) for _ in range(size)]
        self.finish_join_phase()
        ids = [member_id for member_id, _ in joined]
        self.sync_all(ids)
        return ids

    def finish_join_phase(self, group: str = "g") -> None:
        """Let time pass until the join phase ends, and no longer."""
        while self.group(group).state is GroupState.PREPARING_REBALANCE:
            next_ms = self.shard.timers.next_check_ms
            assert next_ms is not None, "nothing would ever end the join phase"
            self.advance(max(next_ms - self.now_ms, 0))

    def sync_all(self, ids: Sequence[str], *, group: str = "g") -> None:
        generation = self.group(group).generation_id
        leader = self.group(group).leader_id
        for member_id in ids:
            if member_id != leader:
                self.sync(member_id, generation, group=group)
        assert leader is not None
        self.sync(leader, generation, {m: b"part %d" % number for number, m in enumerate(ids)}, group=group)

    def _carry_out(self, effect: Respond | Write) -> None:
        if isinstance(effect, Respond):
            assert isinstance(effect.token, str)
            assert effect.token not in self.answers, "a request is answered twice"
            self.open_tokens.remove(effect.token)
            self.answers[effect.token] = effect.response
            return
        if self.append_error is not None:
            self.shard.append_failed(effect.outcome, self.append_error, self.now_ms)
            return
        self.log += [Entry(*encode_record(record)) for record in effect.records]
        self.shard.appended(effect.records, effect.outcome, len(self.log) - 1, self.now_ms)
        self._commit()

    def _commit(self) -> None:
        if not self.holds_commits:
            self.shard.committed(len(self.log) - 1, self.now_ms)

    def _token(self, kind: str) -> str:
        self._count += 1
        token = f"{kind}{self._count}"
        self.open_tokens.add(token)
        return token
