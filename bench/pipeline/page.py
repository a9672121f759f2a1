"""docs/benchmarks-pipeline.md and its plot, made from the results; the reading of them is written by hand and kept."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import plots
from bench.comparison import Comparison, bars, compare, table
from bench.page import END, START, reading
from bench.pipeline.contenders import CONTENDERS, STOCK
from bench.pipeline.rows import PipelineRow
from bench.results import ROOT, Results

SERVERS = {"kafka": "Apache Kafka", "ottla": "Ottla"}
SIDES = ("Spark's Kafka connector", "Ottla's")

INTRODUCTION = """\
# Benchmarks of the pipeline

Spark's own Kafka connector (`format("kafka")`, on the JVM) and Ottla's (`format("ottla")` and `write_topic`, in Python)
in one run, against the same topics of 6 partitions, on Apache Kafka and on Ottla; Spark is `local[2]`, with the
settings of `ottla.pipeline.session()` for both. `make bench-pipeline` measures what is missing and writes this page;
`make bench-pipeline ROWS=copy,latency ROUNDS=9` chooses. Broker, Spark and whoever produces share the machine's
processors, so absolute numbers belong to it; what carries over is how the two compare.

Rounds alternate, after a warm-up that is not counted. Shown are medians, with the lowest and the highest round behind
them. The rate of a stream is that of its micro-batches; `whole query` has the start of the query in it. Spark's CPU is
that of driver, JVM and Python workers together. The last columns say how many times better Ottla's connector is (more
rows, or less time, CPU, memory; below 1: worse), and what is wanted.
"""


def comparisons(rows: Sequence[PipelineRow], results: Results, server: str) -> Iterator[Comparison]:
    for row in rows:
        stock = results.measurements(row.name, f"{server}/{STOCK}")
        for contender, wanted in row.wanted_of.items():
            ours = results.measurements(row.name, f"{server}/{contender}")
            title = f"{row.title}, {CONTENDERS[contender].title}" if len(row.wanted_of) > 1 else row.title
            if stock or ours:
                yield from compare(title, stock, ours, wanted, {})


def write(rows: Sequence[PipelineRow], results: Results, directory: Path) -> None:
    page, pictures = directory / "benchmarks-pipeline.md", directory / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    kinds = {kind for row in rows for kind in row.kinds(list(SERVERS))}
    most = max((len(results.measurements(row.name, kind)) for row in rows for kind in kinds), default=0)
    lines = [
        INTRODUCTION,
        *(f"- {name}: {value}" for name, value in results.machine.items()),
        f"- rounds: up to {most}\n",
        "## Reading\n",
        f"{START}\n\n{reading(page)}\n\n{END}\n",
    ]
    for server, name in SERVERS.items():
        compared = list(comparisons(rows, results, server))
        if not compared:
            continue
        picture = f"pipeline-{server}.svg"
        (pictures / picture).write_text(plots.ratio_bars(bars(compared)))
        lines += [
            f"## On {name}\n",
            f"![How many times better Ottla's connector is, with a mark at what is wanted](benchmarks/{picture})\n",
            *table(compared, SIDES),
            "",
        ]
    lines += ["## Queries\n", *(f"- {row.title}: {row.command}" for row in rows)]
    page.write_text("\n".join(lines) + "\n")
    print(f"wrote {page.relative_to(ROOT)}")
