"""A row of the benchmark: a name, what it shows, and how one server is measured once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from bench.servers import FLOOR, Bed, Beds

Metrics = dict[str, float]
# Counts per bucket of a latency histogram, by what was timed.
Buckets = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Measured:
    metrics: Metrics
    buckets: Buckets = field(default_factory=dict)


Measure = Callable[[], Measured]


@dataclass(frozen=True, slots=True)
class Metric:
    """How a number is read: its unit, and whether more of it is better."""

    title: str
    unit: str
    more_is_better: bool = False


METRICS = {
    "rate": Metric("rate", "records/s", more_is_better=True),
    "cpu_us": Metric("broker CPU per record", "µs"),
    "transaction_cpu_us": Metric("broker CPU per transaction", "µs"),
    "mean_ms": Metric("mean", "ms"),
    "p50_ms": Metric("p50", "ms"),
    "p99_ms": Metric("p99", "ms"),
    "p999_ms": Metric("p99.9", "ms"),
    "max_ms": Metric("highest", "ms"),
    "ping_p99_ms": Metric("p99 of pings", "ms"),
    "ping_max_ms": Metric("highest of pings", "ms"),
    "first_s": Metric("until the first accepted produce", "s"),
    "all_s": Metric("until every partition has accepted one", "s"),
    "clean_s": Metric("until everything is clean", "s"),
    "idle_p99_ms": Metric("p99 before", "ms"),
    "slowdown": Metric("p99 meanwhile against before", "times"),
    "idle_mb": Metric("idle", "MB"),
    "loaded_mb": Metric("after load", "MB"),
    "peak_mb": Metric("highest", "MB"),
    "rows": Metric("rate", "rows/s", more_is_better=True),
    "query_s": Metric("whole query", "s"),
    "spark_cpu_us": Metric("Spark's CPU per row", "µs"),
    "broker_cpu_us": Metric("broker CPU per row", "µs"),
    "spark_mb": Metric("Spark's memory, highest", "MB"),
    "mb_s": Metric("rate", "MB/s", more_is_better=True),
    "cpu_ms_mb": Metric("CPU of all nodes per MB", "ms"),
    "rss_mb": Metric("resident, all nodes", "MB"),
    "pss_mb": Metric("resident, all nodes, shared pages once (PSS)", "MB"),
    "pause_s": Metric("longest time without an acknowledgement", "s"),
    "served_s": Metric("until another leader accepts a record", "s"),
    "idle_cpu_percent": Metric("CPU of the busiest node", "% of a core"),
    "known_s": Metric("until every node knows them", "s"),
    "created_s": Metric("until every one has taken a record", "s"),
    "moved_s": Metric("from the fencing of a node to other leaders for all", "s"),
    "dead_moved_s": Metric("from the death of a node to other leaders for all", "s"),
    "requests": Metric("rate", "requests/s", more_is_better=True),
    "request_cpu_us": Metric("the registry's CPU per request", "µs"),
    "answer_s": Metric("until the first answer", "s"),
    "loaded_s": Metric("until all are served", "s"),
    "registry_mb": Metric("resident", "MB"),
    "dead_written_s": Metric("from the death of a node until every one has taken a record", "s"),
}


class Row(ABC):
    """`wanted`: how many times better than Kafka each metric is meant to be."""

    # What a metric of Ottla may be at most, whatever Kafka's is.
    at_most: Mapping[str, float] = MappingProxyType({})
    # How many times the floor's CPU Ottla's may be; None for a row that the floor cannot serve.
    floor_multiple: float | None = None

    # Measurements that are not counted, before the first that is.
    warm_ups = 1
    # Whether only one server may be up at a time.
    is_alone = False

    def __init__(self, name: str, title: str, command: str, wanted: Mapping[str, float] | None = None) -> None:
        self.name = name
        self.title = title
        self.command = command
        self.wanted = wanted or {}

    def kinds(self, servers: Sequence[str]) -> Sequence[str]:
        """What is measured side by side: the servers, unless there is more to compare."""
        return [server for server in servers if server != FLOOR or self.floor_multiple is not None]

    @abstractmethod
    def open(self, beds: Beds, kind: str, scale: float) -> AbstractContextManager[Measure]:
        """Prepares one of the kinds; the result measures it once per call."""


class LoadRow(Row):
    """A load on a running server."""

    # One is not enough for a JVM to settle.
    warm_ups = 2

    def __init__(
        self,
        name: str,
        title: str,
        command: str,
        load: Callable[[Bed, float], AbstractContextManager[Callable[[], Metrics]]],
        wanted: Mapping[str, float] | None = None,
        floor_multiple: float | None = None,
    ) -> None:
        super().__init__(name, title, command, wanted)
        self._load = load
        self.floor_multiple = floor_multiple

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        with self._load(beds.get(kind, {}), scale) as measure:
            yield lambda: Measured(measure())


def scaled(count: int, scale: float, least: int = 1) -> int:
    return max(int(count * scale), least)


def shares(partitions: int, consumers: int) -> Sequence[Sequence[int]]:
    return [range(first, partitions, consumers) for first in range(consumers)]
