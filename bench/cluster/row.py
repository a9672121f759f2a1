"""A row of the cluster's benchmark: what it shows, how three nodes are measured once, and what is wanted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.cluster.nodes import Nodes
from bench.row import Metrics


@dataclass(frozen=True, slots=True)
class ClusterRow:
    name: str
    title: str
    command: str
    measure: Callable[[Nodes, float], Metrics]
    # How many times better than Kafka each metric is meant to be, and what ours may be, whatever Kafka's is.
    wanted: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    # Measurements in each turn: those that are not counted, and those that are.
    warm_ups: int = 0
    per_turn: int = 1
