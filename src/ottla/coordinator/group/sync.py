"""SyncGroup and Heartbeat: how members learn their assignment, and prove that they are alive.

    SyncGroup in           decision
    ---------------------  --------------------------------------------------------------------------------
    PreparingRebalance     REBALANCE_IN_PROGRESS: join again first
    CompletingRebalance    parked; the leader's carries the assignment, which is written before anyone gets it
    Stable                 the current assignment again
    Empty                  UNKNOWN_MEMBER_ID

A heartbeat is answered NONE in CompletingRebalance and Stable, REBALANCE_IN_PROGRESS in PreparingRebalance.
"""

import logging

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.effects import AssignmentStored, Effects
from ottla.coordinator.group.member import Member
from ottla.coordinator.group.rebalance import SYNC_PHASE, Rebalances, TimerKey
from ottla.coordinator.group.records import group_record
from ottla.coordinator.group.states import GroupState
from ottla.coordinator.timers import TimerTable
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.sync_group_request import SyncGroupRequest
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

logger = logging.getLogger(__name__)


class Syncs:
    """Decides SyncGroup and Heartbeat requests."""

    def __init__(
        self,
        groups: dict[str, ClassicGroup],
        rebalances: Rebalances,
        timers: TimerTable[TimerKey],
        effects: Effects,
    ) -> None:
        self._groups = groups
        self._rebalances = rebalances
        self._timers = timers
        self._effects = effects

    def handle(self, request: SyncGroupRequest, token: object) -> None:
        """Answer the token, now or when the assignment is committed."""
        try:
            group, member = self._validate(request)
        except ApiError as error:
            self._effects.respond(token, SyncGroupResponse(error_code=error.code))
            return
        if group.state is GroupState.PREPARING_REBALANCE:
            self._effects.respond(token, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            return
        group.pending_sync_members.discard(member.member_id)
        if not group.pending_sync_members:
            self._timers.cancel((SYNC_PHASE, group.group_id, ""))
        if group.state is GroupState.STABLE:
            self._effects.respond(token, self._rebalances.sync_answer(group, member))
            return
        superseded, member.sync_token = member.sync_token, token
        if superseded is not None:
            self._effects.respond(superseded, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        if group.is_leader(member.member_id):
            self._store_assignment(group, request)

    def _validate(self, request: SyncGroupRequest) -> tuple[ClassicGroup, Member]:
        group = self._groups.get(request.group_id)
        if group is None or group.state is GroupState.EMPTY:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {request.group_id} has no members")
        member = group.validate_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        # Absent before version 5 (KIP-559).
        for named, chosen in (
            (request.protocol_type, group.protocol_type),
            (request.protocol_name, group.protocol_name),
        ):
            if named is not None and named != chosen:
                raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group uses {chosen!r}, not {named!r}")
        return group, member

    def _store_assignment(self, group: ClassicGroup, request: SyncGroupRequest) -> None:
        given = {entry.member_id: entry.assignment for entry in request.assignments}
        forgotten = sorted(group.members.keys() - given.keys())
        if forgotten:
            logger.warning("Leader of group %s assigns nothing to members %s", group.group_id, forgotten)
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        self._effects.write(
            group_record(group, assignments), AssignmentStored(group.group_id, group.generation_id, assignments)
        )

    def assignment_stored(self, outcome: AssignmentStored, now_ms: int) -> None:
        """The assignment is durable; if the group still waits for it, everyone gets it."""
        group = self._waiting_group(outcome)
        if group is None:
            return
        for member in group.members.values():
            member.assignment = outcome.assignments.get(member.member_id, b"")
        self._rebalances.propagate_assignment(group, now_ms)

    def assignment_not_stored(self, outcome: AssignmentStored, error: ErrorCode, now_ms: int) -> None:
        """The log refused the assignment: members learn why and rebalance again."""
        group = self._waiting_group(outcome)
        if group is None:
            return
        self._rebalances.withdraw_assignment(group, error, now_ms)
        self._rebalances.prepare_or_complete(group, "the assignment could not be written", now_ms)

    def _waiting_group(self, outcome: AssignmentStored) -> ClassicGroup | None:
        group = self._groups.get(outcome.group_id)
        if group is None or group.state is not GroupState.COMPLETING_REBALANCE:
            return None
        return group if group.generation_id == outcome.generation_id else None

    def heartbeat(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int, now_ms: int
    ) -> ErrorCode:
        """Keep the member's session alive and tell it whether to rejoin."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        try:
            member = group.validate_member(member_id, group_instance_id)
        except ApiError as error:
            return error.code
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.extend_session(group, member, now_ms)
        if group.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE
