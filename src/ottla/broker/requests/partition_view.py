"""A partition as clients are told about it, by the newest metadata and through the listener they came in by."""

from dataclasses import dataclass

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import BrokerImage, PartitionState
from ottla.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PartitionView:
    """What Metadata and DescribeTopicPartitions say about a partition."""

    error_code: ErrorCode
    leader_id: int
    offline_replicas: list[int]


def view(context: RequestContext, state: PartitionState) -> PartitionView:
    """Leader and offline replicas. A leader in controlled shutdown still leads, until it is fenced."""
    brokers, listener = context.broker.image.brokers, context.listener
    offline = [
        replica
        for replica, directory in zip(state.replicas, state.directories, strict=True)
        if _is_offline(brokers.get(replica), listener, directory)
    ]
    leader = brokers.get(state.leader)
    if leader is None or leader.is_fenced:
        return PartitionView(ErrorCode.LEADER_NOT_AVAILABLE, -1, offline)
    if leader.listener(listener) is None:
        return PartitionView(ErrorCode.LISTENER_NOT_FOUND, -1, offline)
    return PartitionView(ErrorCode.NONE, state.leader, offline)


def _is_offline(broker: BrokerImage | None, listener: str, directory: bytes) -> bool:
    return (
        broker is None
        or broker.is_fenced
        or broker.listener(listener) is None
        or not broker.has_online_directory(directory)
    )
