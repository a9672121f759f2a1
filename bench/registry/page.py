"""docs/benchmarks-registry.md and its plots, made from the results; the reading of them is written by hand and kept."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import plots
from bench.comparison import Comparison, bars, compare, table
from bench.page import END, START, reading
from bench.registry.contenders import APICURIO, APICURIO_MEMORY, OTTLA
from bench.results import ROOT, Results
from bench.row import Row

SIDES = ("Apicurio", "Ottla")
# Each kind of Apicurio, how a section about it is called, and the name of its plot.
SECTIONS = {
    APICURIO: ("Beside Apicurio with its schemas in a topic", "registry"),
    APICURIO_MEMORY: ("Beside Apicurio with its schemas in memory alone", "registry-memory"),
}

INTRODUCTION = """\
# Benchmarks of the registry

Apicurio's registry 3.0.9 and Ottla's on one machine, under the same requests of Confluent's API. Both keep their
schemas in a topic of one Ottla node (Apicurio as `kafkasql`, with `-Xmx512m`); Apicurio is measured once more with its
schemas in memory alone, where nothing of it survives. `make bench-registry` measures what is missing and writes this
page; `make bench-registry ROWS=reads ROUNDS=9` chooses. The load generator, the node and the registries share the
machine's processors, so absolute numbers belong to it; what carries over is how the two compare, and the CPU that a
request costs the registry.

All are up and one is loaded at a time, in alternating rounds after two loads that are not counted; for starts one is up
at a time. Shown are medians, with the lowest and the highest round behind them. The last columns say how many times
better Ottla is (more requests, or less time, CPU, memory; below 1: worse), and what is wanted: so many times better, or
at most so much. Apicurio's topic has records of its own kind, so that only Ottla's registry can be given 100,000
schemas to begin with.
"""


def comparisons(rows: Sequence[Row], results: Results, reference: str) -> Iterator[Comparison]:
    for row in rows:
        theirs, ours = (results.measurements(row.name, kind) for kind in (reference, OTTLA))
        if theirs or reference == APICURIO:
            yield from compare(row.title, theirs, ours, row.wanted, row.at_most)


def write(rows: Sequence[Row], results: Results, directory: Path) -> None:
    page, pictures = directory / "benchmarks-registry.md", directory / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    most = max((len(results.measurements(row.name, OTTLA)) for row in rows), default=0)
    lines = [
        INTRODUCTION,
        *(f"- {name}: {value}" for name, value in results.machine.items()),
        f"- rounds: up to {most}\n",
        "## Reading\n",
        f"{START}\n\n{reading(page)}\n\n{END}\n",
    ]
    for reference, (title, picture) in SECTIONS.items():
        compared = list(comparisons(rows, results, reference))
        (pictures / f"{picture}.svg").write_text(plots.ratio_bars(bars(compared)))
        lines += [
            f"## {title}\n",
            f"![How many times better Ottla is, row by row, with a mark at what is wanted](benchmarks/{picture}.svg)\n",
            *table(compared, SIDES),
            "",
        ]
    lines += ["## Requests\n", *(f"- {row.title}: {row.command}" for row in rows)]
    page.write_text("\n".join(lines) + "\n")
    print(f"wrote {page.relative_to(ROOT)}")
