"""docs/benchmarks-cluster.md and its plot, made from the results; the reading of them is written by hand and kept."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import plots
from bench.cluster.nodes import KINDS
from bench.cluster.row import ClusterRow
from bench.comparison import Comparison, bars, compare, table
from bench.page import END, SIDES, START, reading
from bench.results import ROOT, Results

INTRODUCTION = """\
# Benchmarks of a cluster

Three nodes of Apache Kafka 4.3.0 and three of Ottla on one machine, each broker and controller; topics with three
replicas, `min.insync.replicas=2`, producers with acks=all. `make bench-cluster` measures what is missing and writes
this page; `make bench-cluster ROWS=produce-1k,killed TURNS=3` chooses. All nodes and the load generator share the
machine's processors, so absolute numbers belong to it; what carries over is how the two compare, and the CPU that the
three nodes need together.

One cluster is up at a time. It is measured in every row and goes; then it is the other one's turn, in alternating
order. Each load is run once or twice without being counted, because a JVM needs that, and then measured twice. Nodes
come back from faults with cold code, so that the catch-up of a follower and all below it are what an operator sees,
not what a JVM would do after an hour. Shown are medians, with the lowest and the highest measurement behind them. The
last columns say how many times better Ottla is (more records, or less time, CPU, memory; below 1: worse), and what is
wanted: so many times better, or at most so much.
"""


def comparisons(rows: Sequence[ClusterRow], results: Results) -> Iterator[Comparison]:
    for row in rows:
        kafka, ottla = (results.measurements(row.name, kind) for kind in KINDS)
        yield from compare(row.title, kafka, ottla, row.wanted, row.at_most)


def write(rows: Sequence[ClusterRow], results: Results, directory: Path) -> None:
    page, pictures = directory / "benchmarks-cluster.md", directory / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    compared = list(comparisons(rows, results))
    (pictures / "cluster.svg").write_text(plots.ratio_bars(bars(compared)))
    most = max((len(results.measurements(row.name, kind)) for row in rows for kind in KINDS), default=0)
    lines = [
        INTRODUCTION,
        *(f"- {name}: {value}" for name, value in results.machine.items()),
        f"- measurements of each: up to {most}\n",
        "## Reading\n",
        f"{START}\n\n{reading(page)}\n\n{END}\n",
        "## Rows\n",
        "![How many times better Ottla is, row by row, with a mark at what is wanted](benchmarks/cluster.svg)\n",
        *table(compared, SIDES),
        "\n## Commands\n",
        *(f"- {row.title}: {row.command}" for row in rows),
    ]
    page.write_text("\n".join(lines) + "\n")
    print(f"wrote {page.relative_to(ROOT)}")
