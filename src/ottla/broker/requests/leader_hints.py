"""KIP-951: an answer that says "not the leader" also says who is, so that a client need not ask for metadata first."""

from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import BrokerImage, Listener
from ottla.protocol.errors import ErrorCode

HINTED_ERRORS = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


def current_leader(context: RequestContext, topic: str, index: int) -> tuple[int, int]:
    """Leader id and epoch by the newest metadata; (-1, -1) where there is none."""
    partition = context.broker.image.topics.partition_of(topic, index)
    return (-1, -1) if partition is None else (partition.leader, partition.leader_epoch)


def leader_endpoints(context: RequestContext, leader_ids: set[int]) -> list[tuple[BrokerImage, Listener]]:
    """Each leader that is up, with its address on the client's own listener."""
    found = []
    for leader_id in sorted(leader_ids):
        broker = context.broker.image.brokers.get(leader_id)
        listener = None if broker is None or broker.is_fenced else broker.listener(context.listener)
        if broker is not None and listener is not None:
            found.append((broker, listener))
    return found
