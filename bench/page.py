"""docs/benchmarks.md and its plots, made from the results; the reading of them is written by hand and kept."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import plots
from bench.results import ROOT, Results
from bench.row import METRICS, Measured, Row
from bench.stalls import BOUNDS_MS, PER_S, StallRow

DOCUMENTS = ROOT / "docs"
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

STALLS = f"""\
What a client waits while the server is busy for another one: {PER_S} requests a second on each of two connections, one
producing one record a request with acks=1, one asking for ApiVersions, which needs no disk. A request counts from when
it was due.
"""


@dataclass(frozen=True, slots=True)
class Spread:
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.low)}-{number(self.high)})"


def number(value: float) -> str:
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def spread(measurements: Sequence[Measured], metric: str) -> Spread | None:
    values = [measured.metrics[metric] for measured in measurements if metric in measured.metrics]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


@dataclass(frozen=True, slots=True)
class Comparison:
    row: Row
    metric: str
    kafka: Spread | None
    ottla: Spread | None

    @property
    def times_better(self) -> float | None:
        if self.kafka is None or self.ottla is None or not self.kafka.median or not self.ottla.median:
            return None
        ratio = self.ottla.median / self.kafka.median
        return ratio if METRICS[self.metric].more_is_better else 1 / ratio

    @property
    def wanted(self) -> str:
        """In words; a bound of Ottla's own says whether it is kept."""
        wanted, bound = self.row.wanted.get(self.metric), self.row.at_most.get(self.metric)
        words = [] if wanted is None else [f"{wanted:g}"]
        if bound is not None:
            is_missed = self.ottla is not None and self.ottla.median > bound
            words.append(f"at most {bound:g}" + (" (missed)" if is_missed else ""))
        return ", ".join(words)


def comparisons(rows: Sequence[Row], results: Results) -> Iterator[Comparison]:
    for row in rows:
        kafka, ottla = (results.measurements(row.name, kind) for kind in ("kafka", "ottla"))
        found = {name for measured in (*kafka, *ottla) for name in measured.metrics}
        for metric in METRICS:
            if metric in found:
                yield Comparison(row, metric, spread(kafka, metric), spread(ottla, metric))


def table(found: Sequence[Comparison]) -> Iterator[str]:
    yield "| row | what | Apache Kafka | Ottla | times better | wanted |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in found:
        metric = METRICS[one.metric]
        ratio = "" if one.times_better is None else f"{one.times_better:.2f}"
        cells = (
            one.row.title,
            f"{metric.title}, {metric.unit}",
            "" if one.kafka is None else str(one.kafka),
            "" if one.ottla is None else str(one.ottla),
            ratio,
            one.wanted,
        )
        yield "| " + " | ".join(cells) + " |"


def bars(found: Sequence[Comparison]) -> list[plots.Bar]:
    return [
        plots.Bar(f"{one.row.title}: {METRICS[one.metric].title}", one.times_better, one.row.wanted[one.metric])
        for one in found
        if one.times_better is not None and one.metric in one.row.wanted
    ]


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
        *table(compared),
        "\n## Stalls\n",
        STALLS,
        "![Latencies of the probe while the server is busy](benchmarks/stalls.svg)\n",
        *table(list(comparisons(stalls, results))),
        "\n## Commands\n",
        "Beside what is shown, each gets the server's address and a topic of its own.\n",
        *(f"- {row.title}: {row.command}" for row in rows if results.measurements(row.name, "ottla")),
    ]
    page.write_text("\n".join(lines) + "\n")
    print(f"wrote {page.relative_to(ROOT)}")
