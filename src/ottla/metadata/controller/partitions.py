"""Leaders and in-sync sets as brokers come and go.

Rules: the leader is the first replica in the replica list that is active and in sync. The last in-sync replica stays in
the set when its broker leaves, so that no other replica takes over without its records; the partition is then offline
until it returns, unless the topic allows an unclean election.

A controller of Apache Kafka may have emptied the in-sync set and named eligible leader replicas instead (KIP-966): they
have every record that was committed, and one of them takes over when it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ottla.metadata.image import NO_LEADER, BrokersImage, ClusterImage, PartitionState, TopicImage
from ottla.metadata.image.topics import NO_LEADER_CHANGE, UNASSIGNED_DIRECTORY
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord

_RECOVERED, _RECOVERING = 0, 1

UncleanAllowed = Callable[[str], bool]


def never_unclean(topic_name: str) -> bool:
    del topic_name
    return False


def new_partition(
    brokers: BrokersImage, topic_id: bytes, partition_id: int, replicas: Sequence[int]
) -> PartitionRecord:
    """A partition on these replicas; at least one of them must be active."""
    isr = [replica for replica in replicas if brokers.is_active(replica)]
    if not isr:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers of partition {partition_id} ({', '.join(map(str, replicas))}) are fenced or shutting down",
        )
    return PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_recovery_state=_RECOVERED,
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(_only_directory(brokers, replica) for replica in replicas),
    )


def changes_when_broker_leaves(
    image: ClusterImage, broker_id: int, is_unclean_allowed: UncleanAllowed = never_unclean
) -> list[PartitionChangeRecord]:
    """The changes when a broker is fenced, shuts down or registers anew: it leads nothing and leaves the in-sync
    sets."""
    changes = []
    for topic in _in_order(image):
        for partition_id, state in sorted(topic.partitions.items()):
            if broker_id != state.leader and broker_id not in state.isr:
                continue
            rest = tuple(replica for replica in state.isr if replica != broker_id)
            isr = rest or state.isr
            change = _change(
                state,
                isr,
                lambda replica: replica != broker_id and image.brokers.is_active(replica),
                is_unclean=is_unclean_allowed(topic.name),
            )
            if change is not None:
                change.topic_id, change.partition_id = topic.id, partition_id
                changes.append(change)
    return changes


def changes_when_broker_returns(
    image: ClusterImage, broker_id: int, is_unclean_allowed: UncleanAllowed = never_unclean
) -> list[PartitionChangeRecord]:
    """The changes when a broker is unfenced: partitions without a leader may now have one."""
    changes = []
    for topic in _in_order(image):
        for partition_id, state in sorted(topic.partitions.items()):
            if state.leader != NO_LEADER or broker_id not in state.replicas:
                continue
            change = _change(
                state,
                state.isr,
                lambda replica: replica == broker_id or image.brokers.is_active(replica),
                is_unclean=is_unclean_allowed(topic.name),
            )
            if change is not None:
                change.topic_id, change.partition_id = topic.id, partition_id
                changes.append(change)
    return changes


def _in_order(image: ClusterImage) -> list[TopicImage]:
    """Topics in an order that is the same in every process, whatever its hashes."""
    return sorted(image.topics, key=lambda topic: topic.id)


def leads_anything(image: ClusterImage, broker_id: int) -> bool:
    return any(state.leader == broker_id for topic in image.topics for state in topic.partitions.values())


def _change(
    state: PartitionState, isr: tuple[int, ...], is_acceptable: Callable[[int], bool], *, is_unclean: bool
) -> PartitionChangeRecord | None:
    """The record that gives the partition this in-sync set and a leader that fits it; None if nothing changes."""
    recovery = -1
    if state.leader in isr and is_acceptable(state.leader):
        leader = state.leader
    else:
        leader = next((r for r in state.replicas if r in isr and is_acceptable(r)), NO_LEADER)
        if leader == NO_LEADER:
            leader = next((r for r in state.eligible_leader_replicas if is_acceptable(r)), NO_LEADER)
            isr = isr if leader == NO_LEADER else (leader,)
        if leader == NO_LEADER and is_unclean:
            leader = next((r for r in state.replicas if is_acceptable(r)), NO_LEADER)
            if leader != NO_LEADER:
                isr, recovery = (leader,), _RECOVERING
    if leader == state.leader and isr == state.isr:
        return None
    return PartitionChangeRecord(
        isr=None if isr == state.isr else isr,
        leader=NO_LEADER_CHANGE if leader == state.leader else leader,
        leader_recovery_state=recovery,
        eligible_leader_replicas=_without(state.eligible_leader_replicas, leader),
    )


def _without(replicas: tuple[int, ...], leader: int) -> tuple[int, ...] | None:
    """The others, None if nothing changes."""
    return tuple(replica for replica in replicas if replica != leader) if leader in replicas else None


def _only_directory(brokers: BrokersImage, broker_id: int) -> bytes:
    """The directory of a broker that has one; a broker with several chooses one itself and reports it."""
    broker = brokers.get(broker_id)
    return broker.log_dirs[0] if broker and len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY
