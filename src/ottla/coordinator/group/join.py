"""JoinGroup: who may enter a group, and what that does to it.

    request                      group state            decision
    ---------------------------  ---------------------  --------------------------------------------------------------
    no member id, dynamic        any                    v4+: MEMBER_ID_REQUIRED with a new id, remembered as pending;
                                                        before: added under a new id
    no member id, static         any                    known instance: replaced under a new id, the old one is fenced;
                                                        else added under a new id
    pending id                   any                    added
    known id                     PreparingRebalance     updated, parked
    known id, same protocols     CompletingRebalance    current generation again (its first answer was lost)
    known id, same protocols     Stable, follower       current generation again
    known id, leader             Stable                 rebalance: the leader has seen topics change
    known id, other protocols    Completing, Stable     rebalance
    unknown id                   any                    UNKNOWN_MEMBER_ID (FENCED_INSTANCE_ID for a replaced instance)

A static member that returns to a Stable group without changing the chosen protocol causes no rebalance (KIP-345): it
takes over its old assignment. If it leads, clients from v9 on are told to skip the assignment (KIP-814); older ones are
told the leader's old id, so that they act as followers.
"""

from dataclasses import dataclass

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.effects import Effects, GroupCreated, StaticMemberReplaced
from ottla.coordinator.group.member import Member, protocol_entries
from ottla.coordinator.group.rebalance import SESSION, Rebalances, TimerKey, join_error
from ottla.coordinator.group.records import empty_group_record, group_record
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.timers import TimerTable
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.join_group_request import JoinGroupRequest

# First versions of JoinGroup with these behaviours.
_MEMBER_ID_REQUIRED_FROM = 4
_SKIP_ASSIGNMENT_FROM = 9


@dataclass(frozen=True, slots=True)
class JoinContext:
    """What a JoinGroup brings along outside its body; `member_uuid` is fresh randomness for a new member id."""

    api_version: int
    client_id: str
    client_host: str
    member_uuid: str


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup in progress: the request, its context, and the token to answer."""

    request: JoinGroupRequest
    context: JoinContext
    token: object
    now_ms: int


class Joins:
    """Decides JoinGroup requests."""

    def __init__(
        self,
        config: GroupConfig,
        groups: dict[str, ClassicGroup],
        rebalances: Rebalances,
        timers: TimerTable[TimerKey],
        effects: Effects,
    ) -> None:
        self._config = config
        self._groups = groups
        self._rebalances = rebalances
        self._timers = timers
        self._effects = effects

    def handle(self, join: Join) -> None:
        """Answer the token, now or when the join phase ends."""
        request = join.request
        group = self._groups.get(request.group_id)
        if group is not None:
            self._join(group, join)
            return
        if request.member_id:
            self._refuse(join, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            return
        group = ClassicGroup(request.group_id, state_timestamp_ms=join.now_ms)
        self._groups[request.group_id] = group
        # Written before the first generation, so that a group is in the log from the moment it exists.
        self._effects.write(empty_group_record(group.group_id, join.now_ms), GroupCreated(group.group_id))
        self._join(group, join)

    def _join(self, group: ClassicGroup, join: Join) -> None:
        request = join.request
        protocol_names = [protocol.name for protocol in request.protocols]
        if not self._has_room(group, request.member_id):
            member = group.members.get(request.member_id)
            if member is not None:
                self._rebalances.remove_member(group, member, ErrorCode.GROUP_MAX_SIZE_REACHED)
                self._rebalances.maybe_complete_join(group, join.now_ms)
            group.pending_members.discard(request.member_id)
            self._refuse(join, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        elif not group.supports_protocols(request.protocol_type, protocol_names):
            self._refuse(join, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        elif request.member_id:
            self._join_known(group, join)
        elif request.group_instance_id is None:
            self._join_new_dynamic(group, join)
        else:
            self._join_new_static(group, join, request.group_instance_id)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        max_size = self._config.group_max_size
        if group.state is GroupState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            # Count those that have rejoined, not those that were members: once the limit is lowered, the last to rejoin
            # go.
            return (member is not None and member.is_awaiting_join) or group.awaiting_join_count < max_size
        return member is not None or len(group.members) < max_size

    def _join_new_dynamic(self, group: ClassicGroup, join: Join) -> None:
        member_id = f"{join.context.client_id}-{join.context.member_uuid}"
        if join.context.api_version < _MEMBER_ID_REQUIRED_FROM:
            self._add_member(group, join, member_id)
            return
        group.pending_members.add(member_id)
        self._timers.arm((SESSION, group.group_id, member_id), join.now_ms + join.request.session_timeout_ms)
        self._refuse(join, ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _join_new_static(self, group: ClassicGroup, join: Join, group_instance_id: str) -> None:
        new_member_id = f"{group_instance_id}-{join.context.member_uuid}"
        old_member_id = group.static_members.get(group_instance_id)
        if old_member_id is None:
            self._add_member(group, join, new_member_id)
        else:
            self._replace_static_member(group, join, old_member_id, new_member_id)

    def _join_known(self, group: ClassicGroup, join: Join) -> None:
        request = join.request
        if request.member_id in group.pending_members and request.group_instance_id is None:
            self._add_member(group, join, request.member_id)
            return
        try:
            member = group.validate_member(request.member_id, request.group_instance_id)
        except ApiError as error:
            self._refuse(join, error.code, request.member_id)
            return
        has_changed = member.protocols != protocol_entries(request.protocols)
        leads_stable = group.state is GroupState.STABLE and group.is_leader(member.member_id)
        if group.state is GroupState.PREPARING_REBALANCE or has_changed or leads_stable:
            self._update(group, join, member)
            self._rebalances.prepare_or_complete(group, f"member {member.member_id} rejoined", join.now_ms)
        else:
            self._effects.respond(join.token, self._rebalances.join_answer(group, member))

    def _add_member(self, group: ClassicGroup, join: Join, member_id: str) -> None:
        request = join.request
        member = Member(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=join.context.client_id,
            client_host=join.context.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=protocol_entries(request.protocols),
        )
        member.is_new = True
        member.join_token = join.token
        if group.initial_delay_remaining_ms is not None:
            group.new_member_added = True
        group.add(member)
        self._rebalances.limit_new_member(group, member, join.now_ms)
        self._rebalances.prepare_or_complete(group, f"member {member_id} joined", join.now_ms)

    def _update(self, group: ClassicGroup, join: Join, member: Member) -> None:
        request = join.request
        group.update_member(
            member, protocol_entries(request.protocols), request.rebalance_timeout_ms, request.session_timeout_ms
        )
        superseded = group.park_join(member, join.token)
        if superseded is not None:
            # The client asked again, most likely on a new connection; a request on the old one may retry.
            self._effects.respond(superseded, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))

    def _replace_static_member(self, group: ClassicGroup, join: Join, old_member_id: str, new_member_id: str) -> None:
        old_leader_id = group.leader_id or ""
        member = group.members[old_member_id]
        # A duplicate that still waits under the old id learns at once that it is fenced.
        self._rebalances.release_tokens(group, member, ErrorCode.FENCED_INSTANCE_ID, old_member_id)
        self._rebalances.end_session(group, old_member_id)
        group.rename_static_member(old_member_id, new_member_id)
        self._rebalances.extend_session(group, member, join.now_ms)
        outcome = StaticMemberReplaced(
            group_id=group.group_id,
            generation_id=group.generation_id,
            old_member_id=old_member_id,
            new_member_id=new_member_id,
            old_protocols=member.protocols,
            old_rebalance_timeout_ms=member.rebalance_timeout_ms,
            old_session_timeout_ms=member.session_timeout_ms,
            old_leader_id=old_leader_id,
            can_skip_assignment=join.context.api_version >= _SKIP_ASSIGNMENT_FROM,
        )
        self._update(group, join, member)
        if group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name:
            assignments = {m.member_id: m.assignment for m in group.members.values()}
            self._effects.write(group_record(group, assignments), outcome)
        else:
            # In CompletingRebalance too: the leader may already have assigned partitions to the old id.
            self._rebalances.prepare_or_complete(group, f"static member {new_member_id} replaced", join.now_ms)

    def static_member_stored(self, outcome: StaticMemberReplaced) -> None:
        """The replacement is durable: answer with the current generation, unless a rebalance has begun meanwhile."""
        group = self._groups.get(outcome.group_id)
        member = self._replaced_member(group, outcome)
        if group is None or member is None:
            return
        token = group.take_join_token(member)
        if token is None:
            return
        if outcome.can_skip_assignment:
            answer = self._rebalances.join_answer(group, member, skip_assignment=group.is_leader(member.member_id))
        else:
            answer = self._rebalances.join_answer(group, member, leader=outcome.old_leader_id)
        self._effects.respond(token, answer)

    def static_member_not_stored(self, outcome: StaticMemberReplaced, error: ErrorCode, now_ms: int) -> None:
        """The log refused the new identity: restore the old one, as a restart would."""
        group = self._groups.get(outcome.group_id)
        member = self._replaced_member(group, outcome)
        if group is None or member is None:
            return
        self._rebalances.release_tokens(group, member, error, member_id="")
        self._rebalances.end_session(group, outcome.new_member_id)
        group.update_member(
            member, outcome.old_protocols, outcome.old_rebalance_timeout_ms, outcome.old_session_timeout_ms
        )
        group.rename_static_member(outcome.new_member_id, outcome.old_member_id)
        self._rebalances.extend_session(group, member, now_ms)

    def _replaced_member(self, group: ClassicGroup | None, outcome: StaticMemberReplaced) -> Member | None:
        if group is None or group.state is not GroupState.STABLE or group.generation_id != outcome.generation_id:
            return None
        return group.members.get(outcome.new_member_id)

    def _refuse(self, join: Join, error: ErrorCode, member_id: str) -> None:
        self._effects.respond(join.token, join_error(error, member_id))
