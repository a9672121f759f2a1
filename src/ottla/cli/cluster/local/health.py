"""How a local cluster is: which nodes run, what each leads, and which replicas are not in sync."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.config.cluster_layout import NodeLayout

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.topics import PartitionDescription

STOPPED: Final = "stopped"
STARTING: Final = "starting"
FENCED: Final = "fenced"
SERVING: Final = "serving"


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """One node; the numbers are None if the cluster does not tell them."""

    node: NodeLayout
    pid: int | None
    state: str
    is_active_controller: bool | None = None
    leads: int | None = None
    replicas: int | None = None
    out_of_sync: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it serves, with all of its replicas in sync."""
        return self.state == SERVING and self.out_of_sync == 0


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What the brokers say about the cluster."""

    fenced: Mapping[int, bool]
    active_controller: int
    partitions: "tuple[PartitionDescription, ...]"


async def ask_cluster(client: "Client") -> ClusterView:
    cluster = await client.admin.describe_cluster(include_fenced=True)
    quorum = await client.admin.describe_quorum()
    names = [topic.name for topic in await client.admin.list_topics(include_internal=True)]
    topics = await client.admin.describe_topics(names) if names else {}
    return ClusterView(
        fenced={broker.node_id: broker.is_fenced for broker in cluster.brokers},
        active_controller=quorum.leader_id,
        partitions=tuple(one for topic in topics.values() for one in topic.partitions),
    )


def judge(nodes: Sequence[NodeLayout], pids: Mapping[int, int], view: ClusterView | None) -> list[NodeHealth]:
    """Each node, as its process and the brokers show it; without a view, from the processes alone."""
    return [_judge(node, pids.get(node.node_id), view) for node in nodes]


def _judge(node: NodeLayout, pid: int | None, view: ClusterView | None) -> NodeHealth:
    health = NodeHealth(node, pid, STOPPED if pid is None else STARTING)
    if view is None:
        return health
    node_id = node.node_id
    mine = [one for one in view.partitions if node_id in one.replicas]
    if pid is not None and node_id in view.fenced:
        health = replace(health, state=FENCED if view.fenced[node_id] else SERVING)
    return replace(
        health,
        is_active_controller=view.active_controller == node_id,
        leads=sum(1 for one in view.partitions if one.leader_id == node_id),
        replicas=len(mine),
        out_of_sync=sum(1 for one in mine if node_id not in one.in_sync),
    )
