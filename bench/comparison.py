"""Two sides of a row beside each other: medians, how many times better the second one is, and what is wanted."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import plots
from bench.row import METRICS, Measured


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
    title: str
    metric: str
    reference: Spread | None
    ours: Spread | None
    wanted: float | None
    # What ours may be, whatever the other one is.
    at_most: float | None = None
    # What the least that has to be done takes, and how many times that ours may be.
    floor: Spread | None = None
    floor_multiple: float | None = None

    @property
    def times_better(self) -> float | None:
        if self.reference is None or self.ours is None or not self.reference.median or not self.ours.median:
            return None
        ratio = self.ours.median / self.reference.median
        return ratio if METRICS[self.metric].more_is_better else 1 / ratio

    @property
    def wanted_text(self) -> str:
        """A bound of our own says whether it is kept."""
        words = [] if self.wanted is None else [f"{self.wanted:.3g}"]
        if self.at_most is not None:
            is_missed = self.ours is not None and self.ours.median > self.at_most
            words.append(f"at most {self.at_most:g}" + (" (missed)" if is_missed else ""))
        return ", ".join(words)

    @property
    def times_floor(self) -> float | None:
        """How many times the floor ours takes."""
        if self.floor is None or self.ours is None or not self.floor.median:
            return None
        return self.ours.median / self.floor.median


def compare(
    title: str,
    reference: Sequence[Measured],
    ours: Sequence[Measured],
    wanted: Mapping[str, float],
    at_most: Mapping[str, float],
) -> Iterator[Comparison]:
    """One for each metric that was measured."""
    found = {name for measured in (*reference, *ours) for name in measured.metrics}
    for metric in METRICS:
        if metric in found:
            sides = spread(reference, metric), spread(ours, metric)
            yield Comparison(title, metric, *sides, wanted.get(metric), at_most.get(metric))


def floor_table(found: Sequence[Comparison]) -> Iterator[str]:
    """Those that were measured beside the floor."""
    yield "| row | what | the floor | Ottla | times the floor | wanted |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in found:
        if one.times_floor is None or one.floor_multiple is None:
            continue
        metric = METRICS[one.metric]
        verdict = " (missed)" if one.times_floor > one.floor_multiple else ""
        cells = (
            one.title,
            f"{metric.title}, {metric.unit}",
            str(one.floor),
            str(one.ours),
            f"{one.times_floor:.2f}",
            f"at most {one.floor_multiple:g}{verdict}",
        )
        yield "| " + " | ".join(cells) + " |"


def table(found: Sequence[Comparison], sides: tuple[str, str]) -> Iterator[str]:
    yield f"| row | what | {sides[0]} | {sides[1]} | times better | wanted |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in found:
        metric = METRICS[one.metric]
        ratio = "" if one.times_better is None else f"{one.times_better:.2f}"
        cells = (
            one.title,
            f"{metric.title}, {metric.unit}",
            "" if one.reference is None else str(one.reference),
            "" if one.ours is None else str(one.ours),
            ratio,
            one.wanted_text,
        )
        yield "| " + " | ".join(cells) + " |"


def bars(found: Sequence[Comparison]) -> list[plots.Bar]:
    return [
        plots.Bar(f"{one.title}: {METRICS[one.metric].title}", one.times_better, one.wanted)
        for one in found
        if one.times_better is not None and one.wanted is not None
    ]
