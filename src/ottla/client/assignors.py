"""How the leader of a classic group divides partitions among its members: Kafka's assignors as pure functions.

`range` gives each member a run of each topic's partitions, so equal partitions of several topics go to one member;
`roundrobin` deals out all partitions in turn. `cooperative-sticky` moves as little as it can from what members hold,
and first takes a moving partition from its owner; the next rebalance gives it to another member (KIP-429).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ottla.client.consumer_protocol import Subscription
from ottla.protocol.topic_partition import TopicPartition

Assignment = dict[str, list[TopicPartition]]
Members = Mapping[str, Subscription]


@dataclass(frozen=True, slots=True)
class Assignor:
    """A way of dividing; the name is what members agree on."""

    name: str
    is_cooperative: bool
    assign: Callable[[Members, Mapping[str, int]], Assignment]


def assign_range(members: Members, partition_counts: Mapping[str, int]) -> Assignment:
    """Runs of partitions, topic by topic; the first members get one more if they do not divide evenly."""
    assignment: Assignment = {member: [] for member in members}
    for topic in sorted({topic for subscription in members.values() for topic in subscription.topics}):
        subscribed = sorted(member for member, subscription in members.items() if topic in subscription.topics)
        share, extra = divmod(partition_counts.get(topic, 0), len(subscribed))
        start = 0
        for position, member in enumerate(subscribed):
            end = start + share + (position < extra)
            assignment[member] += [TopicPartition(topic, number) for number in range(start, end)]
            start = end
    return assignment


def assign_round_robin(members: Members, partition_counts: Mapping[str, int]) -> Assignment:
    """All partitions in order, to the members in turn; a member that is not subscribed to the topic is skipped."""
    assignment: Assignment = {member: [] for member in members}
    order = sorted(members)
    turn = 0
    for partition in _list_partitions(members, partition_counts):
        while partition.topic not in members[order[turn % len(order)]].topics:
            turn += 1
        assignment[order[turn % len(order)]].append(partition)
        turn += 1
    return assignment


def assign_cooperative_sticky(members: Members, partition_counts: Mapping[str, int]) -> Assignment:
    """As balanced as possible with as few moves as possible; a partition that moves stays unassigned for now."""
    partitions = _list_partitions(members, partition_counts)
    owners = _find_owners(members, set(partitions))
    balanced = _balance(members, partitions, owners)
    return {
        member: sorted(partition for partition in held if owners.get(partition, member) == member)
        for member, held in balanced.items()
    }


RANGE = Assignor("range", False, assign_range)
ROUND_ROBIN = Assignor("roundrobin", False, assign_round_robin)
COOPERATIVE_STICKY = Assignor("cooperative-sticky", True, assign_cooperative_sticky)

ASSIGNORS = {assignor.name: assignor for assignor in (RANGE, ROUND_ROBIN, COOPERATIVE_STICKY)}


def _list_partitions(members: Members, partition_counts: Mapping[str, int]) -> list[TopicPartition]:
    topics = sorted({topic for subscription in members.values() for topic in subscription.topics})
    return [TopicPartition(topic, number) for topic in topics for number in range(partition_counts.get(topic, 0))]


def _find_owners(members: Members, partitions: set[TopicPartition]) -> dict[TopicPartition, str]:
    """Find who holds what: the member of the latest generation that claims it, or nobody if two of it do."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in sorted(members):
        subscription = members[member]
        for partition in subscription.owned:
            if partition not in partitions or partition.topic not in subscription.topics:
                continue
            generation, _ = claims.get(partition, (-2, None))
            if subscription.generation > generation:
                claims[partition] = (subscription.generation, member)
            elif subscription.generation == generation:
                claims[partition] = (generation, None)
    return {partition: owner for partition, (_, owner) in claims.items() if owner is not None}


def _balance(
    members: Members, partitions: list[TopicPartition], owners: Mapping[TopicPartition, str]
) -> dict[str, set[TopicPartition]]:
    held: dict[str, set[TopicPartition]] = {member: set() for member in members}
    for partition, owner in owners.items():
        held[owner].add(partition)
    topics = {member: frozenset(subscription.topics) for member, subscription in members.items()}
    takers = {topic: [member for member in sorted(members) if topic in topics[member]] for topic, _ in partitions}
    # Partitions that few members can take go first, before those members are full.
    for partition in sorted(partitions, key=lambda partition: (len(takers[partition.topic]), partition)):
        if partition not in owners:
            held[min(takers[partition.topic], key=lambda member: (len(held[member]), member))].add(partition)
    while (move := _find_improvement(held, takers)) is not None:
        partition, giver, taker = move
        held[giver].remove(partition)
        held[taker].add(partition)
    return held


def _find_improvement(
    held: Mapping[str, set[TopicPartition]], takers: Mapping[str, list[str]]
) -> tuple[TopicPartition, str, str] | None:
    """Find a move that makes two members more equal. Each move lowers the sum of squares, so the search ends."""
    for giver in sorted(held, key=lambda member: (-len(held[member]), member)):
        for partition in sorted(held[giver], reverse=True):
            taker = min(takers[partition.topic], key=lambda member: (len(held[member]), member))
            if len(held[taker]) + 1 < len(held[giver]):
                return partition, giver, taker
    return None
