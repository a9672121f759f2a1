"""docs/benchmarks.md and its plots, made from the results; the reading of them is written by hand and kept."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench import plots
from bench.comparison import Comparison, bars, compare, floor_table, spread, table
from bench.results import ROOT, Results
from bench.row import Measured, Row
from bench.servers import FLOOR
from bench.stalls import BOUNDS_MS, PER_S, StallRow

DOCUMENTS = ROOT / "docs"
SIDES = ("Apache Kafka", "Ottla")
START = "<!-- The reading, written by hand: kept when the page is made anew. -->"
END = "<!-- The end of the reading. -->"

INTRODUCTION = """\
# Benchmarks

Apache Kafka 4.3.0 and Ottla on one machine, under the same load generators: librdkafka's `rdkafka_performance` and
Kafka's own ProducerPerformance, ConsumerPerformance and EndToEndLatency. `make bench` measures what is missing and
writes this page; `make bench ROWS=produce ROUNDS=9` chooses. Absolute numbers belong to this machine, on which servers
and generators share the processors; what carries over is how the two compare, and the CPU that a record costs the
broker.

Both servers are up and one is loaded at a time, in alternating rounds after a warm-up that is not counted; for starts,
restarts and memory one server is up at a time. Shown are medians, with the lowest and the highest round behind them.
The last columns say how many times better Ottla is (more records, or less time, CPU, memory; below 1: worse), and what
is wanted: so many times better, or at most so much.
"""

FLOOR_TEXT = """\
What Ottla costs above the least that a server in Python has to do for a Produce request. The floor (`bench/floor.py`)
runs on the same event loop, reads frames, checks CRC-32C, makes one `writev` a batch and sends the shortest answer; it
knows no configuration, no offsets and no producers. It is measured in the same rounds as the other two.
"""

STALLS = f"""\
What a client waits while the server is busy for another one: {PER_S} requests a second on each of two connections, one
producing one record a request with acks=1, one asking for ApiVersions, which needs no disk. A request counts from when
it was due.
"""


def comparisons(rows: Sequence[Row], results: Results) -> Iterator[Comparison]:
    for row in rows:
        kafka, ottla, floor = (results.measurements(row.name, kind) for kind in ("kafka", "ottla", FLOOR))
        for found in compare(row.title, kafka, ottla, row.wanted, row.at_most):
            is_cpu = found.metric == "cpu_us"
            yield (
                replace(found, floor=spread(floor, "cpu_us"), floor_multiple=row.floor_multiple) if is_cpu else found
            )


def panels(rows: Sequence[Row], results: Results) -> Iterator[plots.Panel]:
    names = {"produce": "one-record produce", "ping": "ping"}
    for row in rows:
        for timed, words in names.items():
            counts = [_summed(results.measurements(row.name, kind), timed) for kind in ("kafka", "ottla")]
            if any(counts):
                yield plots.Panel(f"{row.title}: {words}", *counts)


def _summed(measurements: Sequence[Measured], timed: str) -> list[int]:
    each = [measured.buckets[timed] for measured in measurements if timed in measured.buckets]
    return [sum(column) for column in zip(*each, strict=True)]


def reading(page: Path) -> str:
    """What somebody wrote about an earlier run."""
    text = page.read_text() if page.exists() else ""
    if START not in text:
        return ""
    return text.split(START)[1].split(END)[0].strip()


def write(rows: Sequence[Row], results: Results, directory: Path) -> None:
    loads = [row for row in rows if not isinstance(row, StallRow)]
    stalls = [row for row in rows if isinstance(row, StallRow)]
    page, pictures = directory / "benchmarks.md", directory / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    compared = list(comparisons(loads, results))
    (pictures / "ratios.svg").write_text(plots.ratio_bars(bars(compared)))
    (pictures / "stalls.svg").write_text(plots.histograms(list(panels(stalls, results)), BOUNDS_MS))
    most = max((len(results.measurements(row.name, kind)) for row in rows for kind in ("kafka", "ottla")), default=0)
    lines = [
        INTRODUCTION,
        *(f"- {name}: {value}" for name, value in results.machine.items()),
        f"- rounds: up to {most}\n",
        "## Reading\n",
        f"{START}\n\n{reading(page)}\n\n{END}\n",
        "## Rates, latencies, starts, memory\n",
        "![How many times better Ottla is, row by row, with a mark at what is wanted](benchmarks/ratios.svg)\n",
        *table(compared, SIDES),
        "\n## The floor\n",
        FLOOR_TEXT,
        *floor_table(compared),
        "\n## Stalls\n",
        STALLS,
        "![Latencies of the probe while the server is busy](benchmarks/stalls.svg)\n",
        *table(list(comparisons(stalls, results)), SIDES),
        "\n## Commands\n",
        "Beside what is shown, each gets the server's address and a topic of its own.\n",
        *(f"- {row.title}: {row.command}" for row in rows if results.measurements(row.name, "ottla")),
    ]
    page.write_text("\n".join(lines) + "\n")
    print(f"wrote {page.relative_to(ROOT)}")
