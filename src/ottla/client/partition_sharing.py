"""How consumers share the partitions of topics: the part of one consumer in its group.

With eager assignors a member gives everything back before it joins again; with cooperative ones it keeps everything and
gives back only what the new assignment leaves out, and then the group rebalances once more (KIP-429).
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ottla.client.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from ottla.client.cluster import Cluster
from ottla.client.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.client.errors import ClientError
from ottla.client.group_member import GroupMember, MemberSettings, Offer
from ottla.protocol.topic_partition import TopicPartition

PROTOCOL_TYPE = "consumer"


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """How a consumer behaves in its group; the names in comments are Kafka's, and so are the defaults."""

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

    def for_member(self) -> MemberSettings:
        return MemberSettings(
            self.group_id,
            PROTOCOL_TYPE,
            self.instance_id,
            self.session_timeout_ms,
            self.heartbeat_interval_ms,
            self.max_poll_interval_ms,
        )


class PartitionOwner(Protocol):
    """The user of the partitions: called before they are revoked and after they are assigned."""

    def rebalance_due(self) -> None: ...

    async def partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...

    async def partitions_lost(self, partitions: frozenset[TopicPartition]) -> None: ...

    async def partitions_assigned(
        self, added: frozenset[TopicPartition], assignment: frozenset[TopicPartition]
    ) -> None: ...


class PartitionSharing:
    """A `Participant` that wants topics and gets partitions."""

    def __init__(self, cluster: Cluster, member: GroupMember, settings: GroupSettings, owner: PartitionOwner) -> None:
        self.topics: tuple[str, ...] = ()
        self.owned: frozenset[TopicPartition] = frozenset()
        self._cluster = cluster
        self._member = member
        self._settings = settings
        self._owner = owner
        # Of the topics of all members, if this one divides them.
        self._subscribed: frozenset[str] = frozenset()
        self._partition_counts: dict[str, int] = {}
        self._checked_s = cluster.now_s()

    @property
    def is_cooperative(self) -> bool:
        """Whether partitions are kept while the group rebalances: only if every assignor can."""
        return all(assignor.is_cooperative for assignor in self._settings.assignors)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Want these topics; the group rebalances if they are others than before."""
        if self.topics != topics:
            self.topics = topics
            self._member.rejoin()

    def offer(self) -> Sequence[Offer]:
        generation = self._member.generation if self.owned else -1
        subscription = Subscription(self.topics, tuple(sorted(self.owned)), generation, self._settings.rack)
        metadata = encode_subscription(subscription)
        return [Offer(assignor.name, metadata) for assignor in self._settings.assignors]

    async def prepare_to_join(self) -> None:
        owned = self.owned
        if self._member.has_lost_everything:
            self._give_back()
            await self._owner.partitions_lost(owned)
        elif owned and not self.is_cooperative:
            await self._owner.partitions_revoked(owned)
            self._give_back()

    async def divide(self, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        subscriptions = {member: decode_subscription(metadata) for member, metadata in members.items()}
        self._subscribed = frozenset(topic for one in subscriptions.values() for topic in one.topics)
        self._partition_counts = await self._count_partitions()
        (assignor,) = (one for one in self._settings.assignors if one.name == protocol)
        assigned = assignor.assign(subscriptions, self._partition_counts)
        return {member: encode_assignment(partitions) for member, partitions in assigned.items()}

    async def take(self, part: bytes) -> None:
        assignment, owned = frozenset(decode_assignment(part)), self.owned
        revoked = owned - assignment
        if revoked:
            await self._owner.partitions_revoked(revoked)
        self.owned = assignment
        self._member.holds_something = bool(assignment)
        if self.is_cooperative and revoked:
            # Others wait for what was given back.
            self._member.rejoin()
        await self._owner.partitions_assigned(assignment - owned, assignment)

    async def watch(self) -> None:
        """The topics of all members may get more partitions, or be created."""
        settings = self._cluster.settings
        is_complete = self._partition_counts.keys() >= self._subscribed
        max_age_s = (settings.metadata_max_age_ms if is_complete else settings.retry.max_ms) / 1000
        if self._cluster.now_s() - self._checked_s >= max_age_s:
            with contextlib.suppress(ClientError):
                if await self._count_partitions() != self._partition_counts:
                    self._member.rejoin()

    async def leave(self) -> None:
        try:
            if self.owned:
                await self._owner.partitions_revoked(self.owned)
        finally:
            self._give_back()

    def rebalance_due(self) -> None:
        self._owner.rebalance_due()

    def _give_back(self) -> None:
        self.owned = frozenset()
        self._member.gave_back()

    async def _count_partitions(self) -> dict[str, int]:
        await self._cluster.refresh(self._subscribed)
        self._checked_s = self._cluster.now_s()
        known = self._cluster.metadata.topics
        found = ((topic, known[topic].partitions) for topic in sorted(self._subscribed) if topic in known)
        return {topic: len(partitions) for topic, partitions in found if partitions}
