"""A member of a classic group as a pure state machine: what to ask the coordinator next, and what its answers mean.

    UNJOINED --join--> JOINING --answer--> SYNCING --answer--> STABLE --rebalance--> UNJOINED
       ^                  |                   |                   |
       +---- refused -----+-------------------+-------------------+       (FAILED: for good)

What the members of a group share is their own affair: partitions of topics, or who leads a service. Here are only the
bytes that they tell each other through the coordinator: each offers protocols with its metadata, one of them divides,
and each gets its part.

A member keeps its id over rebalances. When the coordinator no longer knows the id or its generation, the member has
lost what it held. A static member (one with an instance id, KIP-345) gets its old place back when it returns. Nothing
here survives the process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ottla.client.errors import KafkaError, code_of, error_of
from ottla.client.group_offsets import Membership
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

_COORDINATOR_GONE = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)


@dataclass(frozen=True, slots=True)
class MemberSettings:
    """How a member behaves in its group; the names in comments are Kafka's, and so are the defaults."""

    group_id: str
    protocol_type: str
    instance_id: str | None = None  # group.instance.id
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    # How long a member may take to join a rebalance, and to come back to its session.
    rebalance_timeout_ms: int = 300_000

    def __post_init__(self) -> None:
        if not self.group_id:
            raise ValueError("a group needs a name (group_id)")


@dataclass(frozen=True, slots=True)
class Offer:
    """A protocol that a member speaks, and what it tells the one that divides."""

    protocol: str
    metadata: bytes


class State(Enum):
    """Where a member is."""

    UNJOINED = auto()
    JOINING = auto()
    SYNCING = auto()
    STABLE = auto()
    FAILED = auto()


class GroupMember:
    """See the module."""

    def __init__(self, settings: MemberSettings) -> None:
        self.settings = settings
        self.state = State.UNJOINED
        self.member_id = ""
        self.generation = -1
        # What the group has chosen of the offers.
        self.protocol = ""
        # What all members told, if this one divides; empty otherwise.
        self.members: Mapping[str, bytes] = {}
        self.error: KafkaError | None = None
        # Whether the member has something that others must not have at the same time.
        self.holds_something = False
        self.has_lost_everything = False
        self.is_coordinator_gone = False
        self._offered: tuple[str, ...] = ()

    @property
    def is_leader(self) -> bool:
        return bool(self.members)

    @property
    def membership(self) -> Membership:
        """The identity under which to commit."""
        return Membership(self.generation, self.member_id, self.settings.instance_id)

    def join_request(self, offers: Sequence[Offer]) -> JoinGroupRequest:
        """Make the request; the best offer comes first."""
        self.state = State.JOINING
        self.is_coordinator_gone = False
        self.members = {}
        self._offered = tuple(offer.protocol for offer in offers)
        return JoinGroupRequest(
            group_id=self.settings.group_id,
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=self.settings.protocol_type,
            protocols=[JoinGroupRequestProtocol(name=offer.protocol, metadata=offer.metadata) for offer in offers],
        )

    def joined(self, response: JoinGroupResponse) -> None:
        """Take the coordinator's answer: SYNCING if it admitted the member."""
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self.state = State.UNJOINED
            return
        if response.error_code != ErrorCode.NONE:
            self.refused(response.error_code)
            return
        chosen = response.protocol_name or ""
        if chosen not in self._offered:
            text = f"the group chose protocol {chosen!r}, which this member did not offer"
            self._fail(KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text))
            return
        self.protocol = chosen
        self.member_id = response.member_id
        self.generation = response.generation_id
        self.state = State.SYNCING
        if response.leader == response.member_id and not response.skip_assignment:
            self.members = {row.member_id: bytes(row.metadata) for row in response.members}

    def sync_request(self, parts: Mapping[str, bytes]) -> SyncGroupRequest:
        """Make the request: the leader's carries the parts of all members, the others' are empty."""
        return SyncGroupRequest(
            group_id=self.settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=self.settings.protocol_type,
            protocol_name=self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=part) for member, part in parts.items()
            ],
        )

    def synced(self, response: SyncGroupResponse) -> bytes | None:
        """Take the member's part, None if it must join again."""
        if response.error_code != ErrorCode.NONE:
            self.refused(response.error_code)
            return None
        self.state = State.STABLE
        return bytes(response.assignment)

    def gave_back(self) -> None:
        """The member holds nothing any more."""
        self.holds_something = False
        self.has_lost_everything = False

    def rejoin(self) -> None:
        """What the member wants, or what there is to divide, has changed."""
        if self.state is not State.FAILED:
            self.state = State.UNJOINED

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
        )

    def leave_request(self, reason: str) -> LeaveGroupRequest | None:
        """Make the request; None if the member is not in the group, or is static: its place is kept for it."""
        if not self.member_id or self.settings.instance_id is not None:
            return None
        members = [MemberIdentity(member_id=self.member_id, reason=reason)]
        return LeaveGroupRequest(group_id=self.settings.group_id, member_id=self.member_id, members=members)

    def left(self) -> None:
        """The member left, or was removed: it comes back as a new one."""
        self.member_id = ""
        self._lose()

    def _lose(self) -> None:
        """Whatever the member held belongs to others now."""
        self.generation = -1
        self.has_lost_everything = self.holds_something
        self.rejoin()

    def refused(self, error_code: int) -> None:
        """Handle an answer with an error: join again, as the same member or as a new one, or give up."""
        code = code_of(error_code)
        if code is ErrorCode.NONE:
            return
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.left()
        elif code is ErrorCode.ILLEGAL_GENERATION:
            self._lose()
        elif code in _COORDINATOR_GONE:
            self.is_coordinator_gone = True
            self.rejoin()
        elif code is ErrorCode.REBALANCE_IN_PROGRESS or code.is_retriable:
            self.rejoin()
        else:
            error = error_of(error_code)
            assert error is not None
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        self.error = error
        self.state = State.FAILED
