"""What the group state machine wants done: answers to parked requests, and records to write.

Deciding and doing are separate: a decision leaves its effects here, and the shell takes them out after each call. A
write carries an outcome, a value that names what must follow once the records are committed or have failed. The shard
interprets it, so that only data crosses the border and a run can be replayed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.coordinator.group.member import ProtocolEntry
from ottla.coordinator.group.records import GroupCoordinatorRecord
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.sync_group_response import SyncGroupResponse


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer the parked request behind the token."""

    token: object
    response: JoinGroupResponse | SyncGroupResponse


@dataclass(frozen=True, slots=True)
class GroupCreated:
    """A new group's first record; if it is not written, the group is dropped again."""

    group_id: str


@dataclass(frozen=True, slots=True)
class GroupEmptied:
    """The last member is gone. If this fails, a restart finds the old members and lets them expire again."""

    group_id: str


@dataclass(frozen=True, slots=True)
class AssignmentStored:
    """The leader's assignment; once it is committed, the members get it and the group is stable."""

    group_id: str
    generation_id: int
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class StaticMemberReplaced:
    """A static member came back under a new id without a rebalance; on failure the old identity is restored."""

    group_id: str
    generation_id: int
    old_member_id: str
    new_member_id: str
    old_protocols: tuple[ProtocolEntry, ...]
    old_rebalance_timeout_ms: int
    old_session_timeout_ms: int
    old_leader_id: str
    can_skip_assignment: bool


Outcome = GroupCreated | GroupEmptied | AssignmentStored | StaticMemberReplaced


@dataclass(frozen=True, slots=True)
class Write:
    """Append these records to the shard's partition, and report whether they were committed."""

    records: tuple[GroupCoordinatorRecord, ...]
    outcome: Outcome


class Effects:
    """The effects of the decisions since they were last taken out, in order."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[Respond | Write] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def respond(self, token: object, response: JoinGroupResponse | SyncGroupResponse) -> None:
        self._pending.append(Respond(token, response))

    def write(self, record: GroupCoordinatorRecord, outcome: Outcome) -> None:
        self._pending.append(Write((record,), outcome))

    def take(self) -> list[Respond | Write]:
        """Hand all effects so far to the caller."""
        taken, self._pending = self._pending, []
        return taken
