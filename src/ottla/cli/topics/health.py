"""`ottla topics health`: the partitions that something is wrong with, and what.

A partition never needs more replicas in sync than it has, whatever min.insync.replicas says, and one that has no more
than the minimum is not listed for being at it: it always is.

What brokers tell of partitions is what they heard last from a controller. So the controllers are asked too: if none
leads them, or if it cannot be learned, that is told, and nothing is called well.
"""

import argparse
import sys
from collections.abc import Collection, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.exits import ExitCode
from ottla.cli.output import OutputFormat, Row, print_rows
from ottla.cli.topics.states import is_at_min_isr, is_unavailable, is_under_min_isr, is_under_replicated
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.cli.access.cluster_trouble import ClusterTrouble
    from ottla.cli.outcomes import Errors
    from ottla.cli.topics.states import TopicState
    from ottla.client import Client
    from ottla.client.admin.topics import PartitionDescription

_COLUMNS: Final = (
    "topic",
    "partition",
    "problems",
    "leader",
    "replicas",
    "in_sync",
    "min_in_sync",
    "eligible_leaders",
)


class Problem(Enum):
    """What may be wrong with a partition, the worst first."""

    OFFLINE = "offline"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"
    UNDER_REPLICATED = "under-replicated"


# With these, clients are refused.
_SEVERE: Final = frozenset({Problem.OFFLINE, Problem.UNDER_MIN_ISR})


def problems_of(
    partition: "PartitionDescription", min_in_sync: int, live_brokers: Collection[int]
) -> tuple[Problem, ...]:
    """What is wrong with a partition; nothing if all of its replicas are in sync."""
    needed = min(min_in_sync, len(partition.replicas))
    found = {
        Problem.OFFLINE: is_unavailable(partition, live_brokers),
        Problem.UNDER_MIN_ISR: is_under_min_isr(partition, needed),
        Problem.AT_MIN_ISR: is_at_min_isr(partition, needed) and is_under_replicated(partition),
        Problem.UNDER_REPLICATED: is_under_replicated(partition),
    }
    return tuple(problem for problem, is_so in found.items() if is_so)


def show_health(options: argparse.Namespace) -> int:
    """A row for each partition with a problem; exit code 1 if one of them is offline or under its minimum.

    Below it what is wrong with brokers and controllers, with the exit code of that.
    """
    from ottla.cli.outcomes import report_errors

    only = None if options.only is None else Problem(options.only)

    async def ask(client: "Client") -> "tuple[list[TopicState], frozenset[int], Errors, ClusterTrouble]":
        from ottla.cli.access.cluster_trouble import find_trouble
        from ottla.cli.topics.states import topic_states
        from ottla.cli.words.names import select_topics

        listed = await client.admin.list_topics(include_internal=True)
        names, missing = select_topics(listed, options.topics)
        if not options.topics:
            names = [topic.name for topic in listed]
        states = await topic_states(client, names)
        cluster = await client.admin.describe_cluster()
        return (
            list(states.values()),
            frozenset(broker.node_id for broker in cluster.brokers),
            missing,
            await find_trouble(client),
        )

    states, live_brokers, missing, trouble = with_client(cluster_access(options), ask)
    rows: list[Row] = []
    found: set[Problem] = set()
    for state in states:
        for partition in state.topic.partitions:
            problems = problems_of(partition, state.min_in_sync, live_brokers)
            if problems and (only is None or only in problems):
                found.update(problems)
                rows.append(_row(state, partition, problems))
    shape = output_format(options)
    print_rows(shape, _COLUMNS, rows, errors=missing)
    findings = [*trouble.findings(), *lost_brokers(states, trouble)]
    if shape is OutputFormat.TABLE and not rows and not missing and not findings:
        count = sum(len(state.topic.partitions) for state in states)
        print(f"Looked at {count} partitions of {len(states)} topics: nothing to report.", file=sys.stderr)
    for finding in findings:
        print(f"ottla topics: {finding}", file=sys.stderr)
    if (remedy := trouble.remedy()) is not None:
        print(f"  {remedy}", file=sys.stderr)
    code = report_errors("ottla topics", missing)
    if trouble.controllers is not None:
        return code or trouble.controllers.code
    return code or (ExitCode.FAILED if found & _SEVERE or trouble.unanswering else ExitCode.DONE)


def lost_brokers(states: "Iterable[TopicState]", trouble: "ClusterTrouble") -> list[str]:
    """A sentence for each broker that replicas were given to, and that the cluster does not know any more."""
    if not trouble.brokers:
        return []
    used = {replica for state in states for partition in state.topic.partitions for replica in partition.replicas}
    lost = used - {broker.node_id for broker in trouble.brokers}
    return [f"broker {broker_id} has replicas, and is not part of the cluster" for broker_id in sorted(lost)]


def _row(state: "TopicState", partition: "PartitionDescription", problems: tuple[Problem, ...]) -> Row:
    eligible = partition.eligible_leaders
    return {
        "topic": state.topic.name,
        "partition": partition.partition,
        "problems": [problem.value for problem in problems],
        "leader": partition.leader_id if partition.leader_id >= 0 else None,
        "replicas": list(partition.replicas),
        "in_sync": list(partition.in_sync),
        "min_in_sync": min(state.min_in_sync, len(partition.replicas)),
        "eligible_leaders": None if eligible is None else list(eligible),
    }
