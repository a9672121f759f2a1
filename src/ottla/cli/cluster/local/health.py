"""How a local cluster is: which nodes run and answer, what each leads, and which replicas are not in sync.

| state | process | asked directly | what the brokers say |
| --- | --- | --- | --- |
| stopped | none | | |
| silent | runs | accepts, and never answers | whatever |
| serving, fenced | runs | | so |
| no-quorum | runs | answers | nothing: they have no controller to ask |
| starting | runs | | nothing yet about this node |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access.answers import Answer
from ottla.cli.exits import CommandError, ExitCode
from ottla.config.cluster_layout import NodeLayout

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.topics import PartitionDescription

STOPPED: Final = "stopped"
SILENT: Final = "silent"
NO_QUORUM: Final = "no-quorum"
STARTING: Final = "starting"
FENCED: Final = "fenced"
SERVING: Final = "serving"


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """One node; the numbers are None if the cluster does not tell them."""

    node: NodeLayout
    pid: int | None
    state: str
    # Whether it answers other controllers; a broker that is none does not.
    is_controller_up: bool = False
    is_active_controller: bool | None = None
    leads: int | None = None
    replicas: int | None = None
    out_of_sync: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it serves, with all of its replicas in sync."""
        return self.state == SERVING and self.out_of_sync == 0


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """What a node said when it was asked directly, at each of its addresses."""

    client: Answer
    controller: Answer | None = None


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


def judge(
    nodes: Sequence[NodeLayout],
    pids: Mapping[int, int],
    answers: Mapping[int, NodeAnswers],
    view: ClusterView | None,
) -> list[NodeHealth]:
    """Each node, as its process, its answers and the brokers show it; without a view, without the brokers."""
    return [_judge(node, pids.get(node.node_id), answers.get(node.node_id), view) for node in nodes]


def _judge(node: NodeLayout, pid: int | None, answers: NodeAnswers | None, view: ClusterView | None) -> NodeHealth:
    health = NodeHealth(
        node,
        pid,
        _state(node, pid, answers, view),
        is_controller_up=pid is not None and answers is not None and answers.controller is Answer.GIVEN,
    )
    if view is None:
        return health
    node_id = node.node_id
    mine = [one for one in view.partitions if node_id in one.replicas]
    return replace(
        health,
        is_active_controller=view.active_controller == node_id,
        leads=sum(1 for one in view.partitions if one.leader_id == node_id),
        replicas=len(mine),
        out_of_sync=sum(1 for one in mine if node_id not in one.in_sync),
    )


def _state(node: NodeLayout, pid: int | None, answers: NodeAnswers | None, view: ClusterView | None) -> str:
    if pid is None:
        return STOPPED
    given = set() if answers is None else {answers.client, answers.controller}
    if Answer.SILENCE in given:
        return SILENT
    if view is None:
        return NO_QUORUM if Answer.GIVEN in given else STARTING
    if node.node_id in view.fenced:
        return FENCED if view.fenced[node.node_id] else SERVING
    return STARTING


def complaints(found: Sequence[NodeHealth], data: str) -> list[CommandError]:
    """What to tell about nodes that do not answer and about a missing quorum; `data` ends each command that helps."""
    told = [
        CommandError(
            f"Node {health.node.node_id} (pid {health.pid}) does not answer; is it frozen?",
            ExitCode.UNAVAILABLE,
            f"`ottla cluster kill {health.node.node_id} --signal CONT{data}` wakes it, "
            f"`ottla cluster kill {health.node.node_id}{data}` ends it.",
        )
        for health in found
        if health.state == SILENT
    ]
    has_view = any(health.is_active_controller is not None for health in found)
    if not has_view and any(health.pid is not None for health in found):
        told.append(_missing_quorum(found, data))
    return told


def _missing_quorum(found: Sequence[NodeHealth], data: str) -> CommandError:
    voters = [health for health in found if health.node.is_controller]
    up = [health for health in voters if health.is_controller_up]
    needed = len(voters) // 2 + 1
    count = f"{len(up)} of {len(voters)} controllers {'is' if len(up) == 1 else 'are'} up"
    if len(up) >= needed:
        return CommandError(
            f"No controller is elected yet, though {count}",
            ExitCode.UNAVAILABLE,
            f"Look again in a few seconds: `ottla cluster status{data}`. The nodes' logs (node.log) say more.",
        )
    if any(health.pid is None for health in voters):
        remedy = f"`ottla cluster up{data}` starts the others."
    elif any(health.state == SILENT for health in voters):
        remedy = "Wake those that do not answer."
    else:
        remedy = f"Wait if they are starting: `ottla cluster status{data}`. The nodes' logs (node.log) say more."
    return CommandError(
        f"There is no quorum: {count}, and it takes {needed} to elect one. Nothing can be changed, and brokers tell "
        "what they heard last",
        ExitCode.UNAVAILABLE,
        remedy,
    )
