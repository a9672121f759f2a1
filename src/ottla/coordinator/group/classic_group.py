"""One classic group: its members, leader, generation and chosen protocol. (States and transitions: `states`.)

Guarantees, checked by `assert_invariants` in tests after every step:
- there is a leader exactly while there are members, and the leader is one of them;
- the generation never goes back;
- a protocol is chosen in CompletingRebalance and Stable, and every member supports it;
- each `group.instance.id` belongs to exactly one member;
- joins are parked only in PreparingRebalance (or while a static member's replacement is written, in Stable), syncs only
  in CompletingRebalance.

What survives a crash is what the last GroupMetadata record says: generation, protocol, leader, and the members with
their subscription and assignment. Parked requests, pending members and timers do not; clients ask again.
"""

from collections.abc import Iterable

from ottla.coordinator.group.member import Member, ProtocolEntry
from ottla.coordinator.group.states import VALID_PREVIOUS_STATES, GroupState
from ottla.coordinator.group.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.join_group_response import JoinGroupResponseMember


class ClassicGroup:
    """The state of one group. It answers questions and applies changes; it does not decide requests."""

    __slots__ = (
        "_protocol_supporters",
        "awaiting_join_count",
        "generation_id",
        "group_id",
        "initial_delay_remaining_ms",
        "leader_id",
        "members",
        "new_member_added",
        "pending_members",
        "pending_sync_members",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
    )

    def __init__(self, group_id: str, *, state: GroupState = GroupState.EMPTY, state_timestamp_ms: int = -1) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = GroupState.DEAD
        self.state_timestamp_ms = state_timestamp_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        # Ids given out with MEMBER_ID_REQUIRED whose owners have not come back yet.
        self.pending_members: set[str] = set()
        self.pending_sync_members: set[str] = set()
        self.awaiting_join_count = 0
        # None outside the initial rebalance; in it, how much longer newcomers may still extend the delay.
        self.initial_delay_remaining_ms: int | None = None
        self.new_member_added = False
        self.subscribed_topics: frozenset[str] | None = None
        self._protocol_supporters: dict[str, int] = {}

    # Questions

    def is_leader(self, member_id: str) -> bool:
        return self.leader_id == member_id

    @property
    def is_unused(self) -> bool:
        """Whether nobody has ever joined: then it is there for nothing but its offsets."""
        return self.state is GroupState.EMPTY and self.generation_id == 0 and not self.pending_members

    @property
    def can_rebalance(self) -> bool:
        return self.state in VALID_PREVIOUS_STATES[GroupState.PREPARING_REBALANCE]

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits: as long as the slowest member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member consumes the topic; a consumer group whose metadata we cannot read counts as subscribed."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def supports_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether the group would still have a common protocol if a member with these protocols joined."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        if self.protocol_type != protocol_type:
            return False
        return any(self._protocol_supporters.get(name, 0) == len(self.members) for name in names)

    def select_protocol(self) -> str:
        """The protocol that all members support and most members put first; ties go to the earlier vote."""
        assert self.members, f"group {self.group_id} has no members to choose a protocol"
        candidates = {name for name, count in self._protocol_supporters.items() if count == len(self.members)}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def validate_member(self, member_id: str, group_instance_id: str | None) -> Member:
        """The member with this id; a static member must use the id that its instance was given last."""
        if group_instance_id is not None:
            current_id = self.static_members.get(group_instance_id)
            if current_id is None:
                raise ApiError(
                    ErrorCode.UNKNOWN_MEMBER_ID,
                    f"group {self.group_id} has no static member with group.instance.id {group_instance_id}",
                )
            if current_id != member_id:
                raise ApiError(
                    ErrorCode.FENCED_INSTANCE_ID,
                    f"group.instance.id {group_instance_id} of group {self.group_id} now belongs to {current_id}",
                )
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {self.group_id} has no member {member_id!r}")
        return member

    def join_response_members(self) -> list[JoinGroupResponseMember]:
        """All members with their metadata, as the leader needs them to compute an assignment."""
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    # Changes

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        assert self.state in VALID_PREVIOUS_STATES[state], (
            f"group {self.group_id} cannot go from {self.state} to {state}"
        )
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    def add(self, member: Member) -> None:
        """Add a member. The first one brings the protocol type, and leads."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members, "a group.instance.id has one owner"
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type, "all members of a group share the protocol type"
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, +1)
        if member.is_awaiting_join:
            self.awaiting_join_count += 1
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> Member | None:
        """Remove a member, or a pending one; if the leader goes, the longest-standing member takes over."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.is_awaiting_join:
                self.awaiting_join_count -= 1
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.pending_sync_members.discard(member_id)
        return member

    def update_member(
        self, member: Member, protocols: tuple[ProtocolEntry, ...], rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, +1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def rename_static_member(self, old_member_id: str, new_member_id: str) -> Member:
        """Give a static member a new id, which fences any client that still uses the old one. All else stays."""
        # Rebuilt instead of popped and added, so that the member keeps its place in the order.
        self.members = {
            new_member_id if member_id == old_member_id else member_id: member
            for member_id, member in self.members.items()
        }
        member = self.members[new_member_id]
        member.member_id = new_member_id
        assert member.group_instance_id is not None, "only static members are renamed"
        self.static_members[member.group_instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        if old_member_id in self.pending_sync_members:
            self.pending_sync_members.remove(old_member_id)
            self.pending_sync_members.add(new_member_id)
        return member

    def park_join(self, member: Member, token: object) -> object | None:
        """Park a JoinGroup until the join phase ends; returns the token of an earlier request that it supersedes."""
        superseded, member.join_token = member.join_token, token
        if superseded is None:
            self.awaiting_join_count += 1
        return superseded

    def take_join_token(self, member: Member) -> object | None:
        token, member.join_token = member.join_token, None
        if token is not None:
            self.awaiting_join_count -= 1
        return token

    def elect_joined_leader(self) -> bool:
        """Pass the lead to a member that has rejoined, if the leader has not; False when nobody has."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        joined = next((member.member_id for member in self.members.values() if member.is_awaiting_join), None)
        if joined is None:
            return False
        self.leader_id = joined
        return True

    def start_next_generation(self, now_ms: int) -> None:
        self.generation_id += 1
        if self.members:
            self.protocol_name = self.select_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self.transition_to(GroupState.EMPTY, now_ms)
        self.refresh_subscribed_topics()
        self.pending_sync_members.clear()
        self.initial_delay_remaining_ms = None
        self.new_member_added = False

    def refresh_subscribed_topics(self) -> None:
        if not self.uses_consumer_protocol:
            self.subscribed_topics = None
        elif not self.members:
            self.subscribed_topics = frozenset()
        elif self.protocol_name is None:
            self.subscribed_topics = None
        else:
            name = self.protocol_name
            self.subscribed_topics = subscribed_topics(member.metadata(name) for member in self.members.values())

    def _count_protocols(self, member: Member, step: int) -> None:
        for name, _ in member.protocols:
            count = self._protocol_supporters.get(name, 0) + step
            if count:
                self._protocol_supporters[name] = count
            else:
                del self._protocol_supporters[name]

    def assert_invariants(self) -> None:
        """Everything that must hold between two requests; cheap enough for every step of a test or simulation."""
        members = self.members
        assert (self.leader_id in members) if members else (self.leader_id is None), "the leader is a member"
        assert self.awaiting_join_count == sum(member.is_awaiting_join for member in members.values())
        assert self.static_members == {
            member.group_instance_id: member.member_id for member in members.values() if member.is_static
        }
        assert all(member_id == member.member_id for member_id, member in members.items())
        assert self.pending_sync_members <= members.keys()
        assert not self.pending_members & members.keys()
        if self.state is GroupState.EMPTY:
            assert not members, "an empty group has no members"
        if self.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            assert members and self._protocol_supporters.get(self.protocol_name or "") == len(members)
        if self.state is not GroupState.COMPLETING_REBALANCE:
            assert not any(member.is_awaiting_sync for member in members.values()), f"sync parked in {self.state}"
