"""The rebalance: how a group gets from one generation to the next.

    prepare         every member must send JoinGroup again; the answers are parked
    complete join   all are back, or the rebalance timeout has passed and the others are dropped: a new generation with
                    a leader, who alone is told the members; now every member must send SyncGroup
    propagate       the leader's assignment is committed: parked syncs are answered, the group is stable

The first rebalance of an empty group waits `group.initial.rebalance.delay.ms` for more members and extends that wait
while they arrive, up to the rebalance timeout, so that a fleet that starts together is assigned once.

Three deadlines drive it: a member's session (no heartbeat), the join phase, and the sync phase (members that got their
JoinGroup answer but never sync are dropped after the rebalance timeout). Static members survive a join phase that they
miss; only their session or the sync deadline ends them.
"""

import logging
from typing import Final

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.effects import Effects, GroupEmptied
from ottla.coordinator.group.member import Member
from ottla.coordinator.group.records import group_record
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.timers import TimerTable
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

logger = logging.getLogger(__name__)

# Kind of deadline, group id, and member id ("" for a deadline of the whole group).
TimerKey = tuple[str, str, str]
SESSION: Final = "session"
JOIN_PHASE: Final = "join phase"
SYNC_PHASE: Final = "sync phase"

# A new member that waits for its first JoinGroup answer cannot heartbeat, and a client that gave up waiting looks the
# same as one that still waits. Kafka drops such members after five minutes.
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000


def join_error(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    """A refused JoinGroup."""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=None)


class Rebalances:
    """Moves groups through their rebalances. Knows nothing of the requests that cause them."""

    def __init__(self, config: GroupConfig, timers: TimerTable[TimerKey], effects: Effects) -> None:
        self._config = config
        self._timers = timers
        self._effects = effects

    # Deadlines

    def extend_session(self, group: ClassicGroup, member: Member, now_ms: int) -> None:
        """Extend the session of a member that has shown that it is alive."""
        self._timers.arm((SESSION, group.group_id, member.member_id), now_ms + member.session_timeout_ms)

    def limit_new_member(self, group: ClassicGroup, member: Member, now_ms: int) -> None:
        self._timers.arm((SESSION, group.group_id, member.member_id), now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._timers.cancel((SESSION, group.group_id, member_id))

    def cancel_deadlines(self, group: ClassicGroup) -> None:
        """Cancel every deadline of a group that is going away."""
        self._timers.cancel((JOIN_PHASE, group.group_id, ""))
        self._timers.cancel((SYNC_PHASE, group.group_id, ""))
        for member_id in [*group.members, *group.pending_members]:
            self.end_session(group, member_id)

    def session_expired(self, group: ClassicGroup, member_id: str, now_ms: int) -> None:
        if member_id in group.pending_members:
            group.remove(member_id)
            self._complete_join_if_all_joined(group, now_ms)
            return
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat:
            return
        logger.info("Member %s of group %s sent no heartbeat in time and is removed", member_id, group.group_id)
        self.remove_member(group, member)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._complete_join_if_all_joined(group, now_ms)
        else:
            self.prepare_or_complete(group, f"member {member_id} expired", now_ms)

    def join_phase_expired(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        remaining_ms = group.initial_delay_remaining_ms
        if remaining_ms is not None and group.new_member_added and remaining_ms > 0:
            delay_ms = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
            group.new_member_added = False
            group.initial_delay_remaining_ms = remaining_ms - delay_ms
            self._timers.arm((JOIN_PHASE, group.group_id, ""), now_ms + delay_ms)
            return
        self.complete_join(group, now_ms)

    def sync_phase_expired(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) or not group.pending_sync_members:
            return
        missing = sorted(group.pending_sync_members)
        for member_id in missing:
            self.end_session(group, member_id)
            group.remove(member_id)
        logger.info("Group %s removes members that never sent SyncGroup: %s", group.group_id, missing)
        self.prepare(group, "members did not sync in time", now_ms)

    # The phases

    def prepare_or_complete(self, group: ClassicGroup, reason: str, now_ms: int) -> None:
        """Start a rebalance, or see whether the running one can complete."""
        if group.can_rebalance:
            self.prepare(group, reason, now_ms)
        else:
            self.maybe_complete_join(group, now_ms)

    def prepare(self, group: ClassicGroup, reason: str, now_ms: int) -> None:
        """Ask every member to join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.withdraw_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        group.pending_sync_members.clear()
        self._timers.cancel((SYNC_PHASE, group.group_id, ""))

        is_initial = group.state is GroupState.EMPTY
        group.transition_to(GroupState.PREPARING_REBALANCE, now_ms)
        logger.info("Group %s rebalances from generation %d: %s", group.group_id, group.generation_id, reason)
        if is_initial:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            group.initial_delay_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            group.new_member_added = False
            self._timers.arm((JOIN_PHASE, group.group_id, ""), now_ms + delay_ms)
        elif group.has_all_members_joined:
            self.complete_join(group, now_ms)
        else:
            self._timers.arm((JOIN_PHASE, group.group_id, ""), now_ms + group.rebalance_timeout_ms)

    def maybe_complete_join(self, group: ClassicGroup, now_ms: int) -> None:
        """End the join phase if every member has joined; the initial one always waits for its delay."""
        if group.initial_delay_remaining_ms is None:
            self._complete_join_if_all_joined(group, now_ms)

    def _complete_join_if_all_joined(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined:
            self.complete_join(group, now_ms)

    def complete_join(self, group: ClassicGroup, now_ms: int) -> None:
        """End the join phase with the members that have joined."""
        assert group.state is GroupState.PREPARING_REBALANCE, f"join phase of group {group.group_id} in {group.state}"
        self._timers.cancel((JOIN_PHASE, group.group_id, ""))
        for member in [m for m in group.members.values() if not m.is_awaiting_join and not m.is_static]:
            logger.info("Member %s of group %s did not rejoin and is removed", member.member_id, group.group_id)
            self.remove_member(group, member)

        if group.members and not group.elect_joined_leader():
            # Only static members are left and none has come back: wait until one does, or until they expire.
            self._timers.arm((JOIN_PHASE, group.group_id, ""), now_ms + group.rebalance_timeout_ms)
            return
        group.start_next_generation(now_ms)
        if not group.members:
            logger.info("Group %s is empty in generation %d", group.group_id, group.generation_id)
            self._effects.write(group_record(group, {}), GroupEmptied(group.group_id))
            return
        logger.info("Group %s has %d members in generation %d", group.group_id, len(group.members), group.generation_id)
        for member in group.members.values():
            token = group.take_join_token(member)
            if token is not None:
                self._effects.respond(token, self.join_answer(group, member))
            self.extend_session(group, member, now_ms)
            member.is_new = False
            group.pending_sync_members.add(member.member_id)
        self._timers.arm((SYNC_PHASE, group.group_id, ""), now_ms + group.rebalance_timeout_ms)

    def join_answer(
        self, group: ClassicGroup, member: Member, *, skip_assignment: bool = False, leader: str | None = None
    ) -> JoinGroupResponse:
        """The member's place in the current generation; the leader alone also gets everybody's metadata."""
        leader_id = leader or group.leader_id
        assert leader_id is not None, f"group {group.group_id} answers a join without a leader"
        return JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=leader_id,
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=group.join_response_members() if leader_id == member.member_id else (),
        )

    # Assignments

    def propagate_assignment(self, group: ClassicGroup, now_ms: int) -> None:
        """Give every member that waits in SyncGroup its assignment; the group is stable."""
        for member in group.members.values():
            self._answer_sync(group, member, ErrorCode.NONE, now_ms)
        group.transition_to(GroupState.STABLE, now_ms)

    def withdraw_assignment(self, group: ClassicGroup, error: ErrorCode, now_ms: int) -> None:
        """This generation gets no assignment: tell every member that waits for one."""
        for member in group.members.values():
            member.assignment = b""
            self._answer_sync(group, member, error, now_ms)

    def _answer_sync(self, group: ClassicGroup, member: Member, error: ErrorCode, now_ms: int) -> None:
        token, member.sync_token = member.sync_token, None
        if token is None:
            return
        self._effects.respond(token, self.sync_answer(group, member, error))
        # Its session may have run out, excused, while it waited for the leader.
        self.extend_session(group, member, now_ms)

    def sync_answer(self, group: ClassicGroup, member: Member, error: ErrorCode = ErrorCode.NONE) -> SyncGroupResponse:
        if error is not ErrorCode.NONE:
            return SyncGroupResponse(error_code=error)
        return SyncGroupResponse(
            protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
        )

    # Members

    def remove_member(
        self, group: ClassicGroup, member: Member, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID
    ) -> None:
        """Remove the member, and answer its parked requests, so that a living client starts afresh."""
        self.release_tokens(group, member, error, member_id="")
        self.end_session(group, member.member_id)
        group.remove(member.member_id)

    def release_tokens(self, group: ClassicGroup, member: Member, error: ErrorCode, member_id: str) -> None:
        """Answer the member's parked requests with an error."""
        join_token = group.take_join_token(member)
        if join_token is not None:
            self._effects.respond(join_token, join_error(error, member_id))
        sync_token, member.sync_token = member.sync_token, None
        if sync_token is not None:
            self._effects.respond(sync_token, SyncGroupResponse(error_code=error))
