"""What clients are told about a partition, by the newest metadata and for the listener they connected to.

An answer that says "not the leader" also says who leads, so that a client need not ask for metadata first (KIP-951).
"""

from dataclasses import dataclass

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import BrokerImage, Endpoint, PartitionState
from ottla.protocol.errors import ErrorCode

HINTED_ERRORS = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


@dataclass(frozen=True, slots=True)
class PartitionView:
    """What Metadata and DescribeTopicPartitions say about a partition."""

    error_code: ErrorCode
    leader_id: int
    offline_replicas: list[int]


def view(context: RequestContext, state: PartitionState) -> PartitionView:
    """The leader and the offline replicas. A leader in controlled shutdown leads until it is fenced."""
    brokers, listener = context.broker.image.brokers, context.listener
    offline = [
        replica
        for replica, directory in zip(state.replicas, state.directories, strict=True)
        if _is_offline(brokers.get(replica), listener, directory)
    ]
    leader = brokers.get(state.leader)
    if leader is None or leader.is_fenced:
        return PartitionView(ErrorCode.LEADER_NOT_AVAILABLE, -1, offline)
    if leader.endpoint(listener) is None:
        return PartitionView(ErrorCode.LISTENER_NOT_FOUND, -1, offline)
    return PartitionView(ErrorCode.NONE, state.leader, offline)


def _is_offline(broker: BrokerImage | None, listener: str, directory: bytes) -> bool:
    return (
        broker is None
        or broker.is_fenced
        or broker.endpoint(listener) is None
        or not broker.has_online_directory(directory)
    )


def current_leader(context: RequestContext, topic: str, index: int) -> tuple[int, int]:
    """Leader id and epoch by the newest metadata; (-1, -1) where there is none."""
    partition = context.broker.image.topics.partition_of(topic, index)
    return (-1, -1) if partition is None else (partition.leader, partition.leader_epoch)


def leader_endpoints(context: RequestContext, leader_ids: set[int]) -> list[tuple[BrokerImage, Endpoint]]:
    """Each leader that is up, with its address for the client's own listener."""
    found = []
    for leader_id in sorted(leader_ids):
        broker = context.broker.image.brokers.get(leader_id)
        endpoint = None if broker is None or broker.is_fenced else broker.endpoint(context.listener)
        if broker is not None and endpoint is not None:
            found.append((broker, endpoint))
    return found
