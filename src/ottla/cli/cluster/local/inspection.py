"""Looks at the nodes of a local cluster: their processes, what each answers, and what the brokers say together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import access, with_client
from ottla.cli.cluster.local import node_processes
from ottla.cli.cluster.local.health import NodeAnswers, NodeHealth, ask_cluster, judge
from ottla.cli.exits import CommandError

if TYPE_CHECKING:
    from ottla.cli.cluster.local.health import ClusterView
    from ottla.client.addresses import Address
    from ottla.config.cluster_layout import NodeLayout

# Brokers that do not answer a question about the cluster in this time have no controller to ask.
_ANSWER_TIMEOUT_MS: Final = 5_000


def inspect(nodes: "Sequence[NodeLayout]") -> list[NodeHealth]:
    """How each node is."""
    pids = node_processes.running_nodes(nodes)
    answers = _ask_nodes([node for node in nodes if node.node_id in pids])
    return judge(nodes, pids, answers, _ask_brokers(nodes, answers))


def _ask_nodes(nodes: "Sequence[NodeLayout]") -> dict[int, NodeAnswers]:
    from ottla.cli.access.answers import ask_addresses
    from ottla.cli.interruption import run_interruptibly

    if not nodes:
        return {}
    clients = {node.node_id: _address(node.client_address) for node in nodes}
    controllers = {
        node.node_id: _address(node.controller_address) for node in nodes if node.controller_address is not None
    }
    found = run_interruptibly(ask_addresses([*clients.values(), *controllers.values()]))
    return {
        node_id: NodeAnswers(found[client], found[controllers[node_id]] if node_id in controllers else None)
        for node_id, client in clients.items()
    }


def _ask_brokers(nodes: "Sequence[NodeLayout]", answers: Mapping[int, NodeAnswers]) -> "ClusterView | None":
    from ottla.cli.access.answers import Answer

    # A frozen one would keep the question for all of its time.
    able = [
        node.client_address
        for node in nodes
        if node.node_id in answers and answers[node.node_id].client is Answer.GIVEN
    ]
    if not able:
        return None
    properties = {"default.api.timeout.ms": str(_ANSWER_TIMEOUT_MS), "request.timeout.ms": str(_ANSWER_TIMEOUT_MS)}
    try:
        return with_client(access(",".join(able), properties), ask_cluster)
    except CommandError:
        # No majority, or an election: the processes and their own answers are all there is to tell.
        return None


def _address(text: str) -> "Address":
    from ottla.client.addresses import parse_addresses

    return parse_addresses(text)[0]
