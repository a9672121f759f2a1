"""LeaveGroup: members that leave on purpose, so that nobody has to wait for their sessions to expire.

From version 3 on a request may name several members, and an administrator may remove a static member by its
`group.instance.id` alone. Each member gets its own answer; the group rebalances once for all of them.
"""

from collections.abc import Sequence

from ottla.coordinator.group.classic_group import ClassicGroup
from ottla.coordinator.group.rebalance import Rebalances
from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.leave_group_request import MemberIdentity
from ottla.protocol.messages.leave_group_response import MemberResponse


class Leaves:
    """Decides LeaveGroup requests."""

    def __init__(self, groups: dict[str, ClassicGroup], rebalances: Rebalances) -> None:
        self._groups = groups
        self._rebalances = rebalances

    def handle(self, group_id: str, leaving: Sequence[MemberIdentity], now_ms: int) -> list[MemberResponse]:
        """One row per member, in the order asked."""
        group = self._groups.get(group_id)
        rows = [
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=ErrorCode.UNKNOWN_MEMBER_ID if group is None else self._remove(group, identity),
            )
            for identity in leaving
        ]
        if group is not None and any(row.error_code == ErrorCode.NONE for row in rows):
            self._rebalance(group, now_ms)
        return rows

    def _remove(self, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
        if identity.member_id in group.pending_members:
            self._rebalances.end_session(group, identity.member_id)
            group.remove(identity.member_id)
            return ErrorCode.NONE
        member_id = identity.member_id
        if not member_id and identity.group_instance_id is not None:
            member_id = group.static_members.get(identity.group_instance_id, "")
        try:
            member = group.validate_member(member_id, identity.group_instance_id)
        except ApiError as error:
            return error.code
        self._rebalances.remove_member(group, member)
        return ErrorCode.NONE

    def _rebalance(self, group: ClassicGroup, now_ms: int) -> None:
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self._rebalances.prepare(group, "members left", now_ms)
        else:
            self._rebalances.maybe_complete_join(group, now_ms)
