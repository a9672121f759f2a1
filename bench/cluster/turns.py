"""Turns: a cluster comes up, is measured in every row, and goes; then it is the other one's turn."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from bench.cluster.nodes import KINDS, Nodes
from bench.cluster.row import ClusterRow
from bench.results import Results
from bench.rounds import FAILURES, shown
from bench.row import Measured
from bench.servers import settle


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    rounds: int
    rows: tuple[str, ...]
    servers: tuple[str, ...]
    scale: float
    is_fresh: bool

    @property
    def is_trial(self) -> bool:
        return self.scale != 1.0


def parsed(rows: Sequence[ClusterRow]) -> Options:
    names = [row.name for row in rows]
    parser = argparse.ArgumentParser(prog="bench.cluster", description="Clusters of Apache Kafka and Ottla in turns.")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each cluster")
    parser.add_argument("--rows", default="", help=f"some of: {','.join(names)}")
    parser.add_argument("--servers", default=",".join(KINDS))
    parser.add_argument("--scale", type=float, default=1.0, help="below 1: less of everything, to try things out")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured of these rows before")
    given = parser.parse_args()
    chosen = tuple(name for name in given.rows.split(",") if name) or tuple(names)
    servers = tuple(given.servers.split(","))
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"--rows {unknown[0]}: there is no such row")
    if unknown := [name for name in servers if name not in KINDS]:
        parser.error(f"--servers {unknown[0]}: expected some of {', '.join(KINDS)}")
    return Options(given.rounds, chosen, servers, given.scale, given.fresh)


class Turns:
    def __init__(self, options: Options, results: Results, home: Path) -> None:
        self._options = options
        self._results = results
        self._home = home
        self.failed: list[str] = []

    def run(self, rows: Sequence[ClusterRow]) -> None:
        """Brings every row to the wanted number of measurements."""
        for number in range(self._options.rounds):
            kinds = self._options.servers if number % 2 == 0 else reversed(self._options.servers)
            for kind in kinds:
                missing = [row for row in rows if self._count(row, kind) < (number + 1) * row.per_turn]
                while missing:
                    print(f"== turn {number + 1} of {kind} ==", flush=True)
                    missing = self._turn(kind, missing)

    def _count(self, row: ClusterRow, kind: str) -> int:
        return len(self._results.measurements(row.name, kind))

    def _turn(self, kind: str, rows: Sequence[ClusterRow]) -> list[ClusterRow]:
        """Measures one cluster; the rows that are left, because a failed one has spoilt it."""
        nodes = Nodes(self._home / kind, kind)
        left = list(rows)
        try:
            nodes.start()
            while left:
                self._measure(nodes, left[0])
                left.pop(0)
        except (*FAILURES, KafkaException) as failure:
            # A cluster that does not start fails the row that wanted it.
            failed = left.pop(0)
            print(f"{failed.name} of {kind} failed: {failure}", file=sys.stderr, flush=True)
            self.failed.append(f"{failed.name} of {kind}")
        finally:
            nodes.close()
        return left

    def _measure(self, nodes: Nodes, row: ClusterRow) -> None:
        for _ in range(row.warm_ups):
            row.measure(nodes, self._options.scale)
        for _ in range(row.per_turn):
            settle()
            started = time.monotonic()
            measured = Measured(row.measure(nodes, self._options.scale))
            self._results.add(row.name, nodes.kind, measured)
            print(f"{row.name} of {nodes.kind} ({time.monotonic() - started:.0f} s): {shown(measured)}", flush=True)
