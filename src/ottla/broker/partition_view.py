"""A partition as clients are told about it, by the newest metadata and through the listener they came in by."""

from dataclasses import dataclass

from ottla.broker.request_context import RequestContext
from ottla.metadata.image import PartitionState
from ottla.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PartitionView:
    """What Metadata and DescribeTopicPartitions say about a partition."""

    error_code: ErrorCode
    leader_id: int
    offline_replicas: list[int]


def view(context: RequestContext, state: PartitionState) -> PartitionView:
    """Leader and offline replicas; the leader is hidden from clients whose listener it does not have."""
    brokers = context.broker.image.brokers
    offline = [replica for replica in state.replicas if not brokers.is_active(replica)]
    leader = brokers.get(state.leader)
    if leader is None or state.leader in offline:
        return PartitionView(ErrorCode.LEADER_NOT_AVAILABLE, -1, offline)
    if leader.listener(context.listener) is None:
        return PartitionView(ErrorCode.LISTENER_NOT_FOUND, -1, offline)
    return PartitionView(ErrorCode.NONE, state.leader, offline)
