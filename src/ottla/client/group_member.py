"""A member of a classic group as a pure state machine: what to ask the coordinator next, and what its answers mean.

    UNJOINED --join--> JOINING --answer--> SYNCING --answer--> STABLE --rebalance--> UNJOINED
       ^                  |                   |                   |
       +---- refused -----+-------------------+-------------------+       (FAILED: for good)

A member keeps its id over rebalances. When the coordinator no longer knows the id or its generation, the member has
lost what it held. With eager assignors it gives everything back before it joins again; with cooperative ones it keeps
everything and gives back only what the new assignment leaves out, and then the group rebalances once more (KIP-429). A
static member (one with an instance id, KIP-345) gets its old place back when it returns. Nothing here survives the
process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from ottla.client.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from ottla.client.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.client.errors import KafkaError, code_of, error_of
from ottla.client.group_offsets import Membership
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.protocol.messages.sync_group_response import SyncGroupResponse
from ottla.protocol.topic_partition import TopicPartition

PROTOCOL_TYPE = "consumer"

_COORDINATOR_GONE = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """How a member behaves in its group; the names in comments are Kafka's, and so are the defaults."""

    group_id: str
    instance_id: str | None = None  # group.instance.id
    assignors: tuple[Assignor, ...] = (RANGE, COOPERATIVE_STICKY)  # partition.assignment.strategy
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    rack: str | None = None  # client.rack

    def __post_init__(self) -> None:
        if not self.group_id:
            raise ValueError("a group needs a name (group_id)")
        if not self.assignors:
            raise ValueError("a member needs at least one assignor")


class State(Enum):
    """Where a member is."""

    UNJOINED = auto()
    JOINING = auto()
    SYNCING = auto()
    STABLE = auto()
    FAILED = auto()


class GroupMember:
    """See the module."""

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self.state = State.UNJOINED
        self.topics: tuple[str, ...] = ()
        self.owned: frozenset[TopicPartition] = frozenset()
        self.member_id = ""
        self.generation = -1
        self.assignor = settings.assignors[0]
        self.error: KafkaError | None = None
        self.has_lost_everything = False
        self.is_coordinator_gone = False
        self._members: dict[str, Subscription] = {}

    @property
    def is_cooperative(self) -> bool:
        """Whether partitions are kept while the group rebalances: only if every assignor can."""
        return all(assignor.is_cooperative for assignor in self.settings.assignors)

    @property
    def is_leader(self) -> bool:
        return bool(self._members)

    @property
    def membership(self) -> Membership:
        """The identity under which to commit."""
        return Membership(self.generation, self.member_id, self.settings.instance_id)

    def subscribed_topics(self) -> frozenset[str]:
        """The topics of all members, whose partitions a leader has to divide."""
        return frozenset(topic for subscription in self._members.values() for topic in subscription.topics)

    def join_request(self) -> JoinGroupRequest:
        self.state = State.JOINING
        self.is_coordinator_gone = False
        self._members = {}
        subscription = Subscription(
            self.topics, tuple(sorted(self.owned)), self.generation if self.owned else -1, self.settings.rack
        )
        metadata = encode_subscription(subscription)
        return JoinGroupRequest(
            group_id=self.settings.group_id,
            session_timeout_ms=self.settings.session_timeout_ms,
            rebalance_timeout_ms=self.settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=each.name, metadata=metadata) for each in self.settings.assignors],
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
        chosen = [each for each in self.settings.assignors if each.name == response.protocol_name]
        if not chosen:
            text = f"the group chose assignor {response.protocol_name!r}, which this member did not offer"
            self._fail(KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text))
            return
        self.assignor = chosen[0]
        self.member_id = response.member_id
        self.generation = response.generation_id
        self.state = State.SYNCING
        if response.leader == response.member_id and not response.skip_assignment:
            self._members = {row.member_id: decode_subscription(row.metadata) for row in response.members}

    def sync_request(self, partition_counts: Mapping[str, int]) -> SyncGroupRequest:
        """Make the request: the leader's carries the assignment of all members, the others' are empty."""
        assigned = self.assignor.assign(self._members, partition_counts) if self._members else {}
        return SyncGroupRequest(
            group_id=self.settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.assignor.name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
                for member, partitions in assigned.items()
            ],
        )

    def synced(self, response: SyncGroupResponse) -> frozenset[TopicPartition] | None:
        """Take the assignment: what the member holds from now on, None if it must join again."""
        if response.error_code != ErrorCode.NONE:
            self.refused(response.error_code)
            return None
        self.state = State.STABLE
        return frozenset(decode_assignment(response.assignment))

    def assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """The member holds these now; a cooperative one that gave some back asks for the next rebalance."""
        has_given_back = bool(self.owned - partitions)
        self.owned = partitions
        if self.is_cooperative and has_given_back:
            self.rejoin()

    def gave_back(self) -> None:
        """The member holds nothing any more."""
        self.owned = frozenset()
        self.has_lost_everything = False

    def rejoin(self) -> None:
        """The subscription or the topics have changed."""
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
        self.has_lost_everything = bool(self.owned)
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
