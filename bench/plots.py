"""Two kinds of plot, written as SVG by hand: bars of ratios, and histograms side by side."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

KAFKA, OTTLA, GRID, INK = "#8a8f98", "#1f7a6d", "#d8dbe0", "#22262b"
FONT = 'font-family="sans-serif" font-size="12"'


def _document(width: int, height: int, parts: Iterator[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>'
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def _text(x: float, y: float, words: str, *, anchor: str = "start", fill: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


LABELS, PLOT, ROW_HEIGHT, MARGIN = 460, 380, 20, 30
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    ratio: float
    wanted: float


def ratio_bars(bars: Sequence[Bar]) -> str:
    """How many times better Ottla is: bars from 1 to the right or to the left, with a mark at what is wanted."""
    low, high = math.log2(TICKS[0]), math.log2(TICKS[-1])

    def place(ratio: float) -> float:
        bounded = min(max(math.log2(ratio), low), high)
        return LABELS + (bounded - low) / (high - low) * PLOT

    height = MARGIN + ROW_HEIGHT * len(bars) + 10

    def parts() -> Iterator[str]:
        for tick in TICKS:
            yield _line(place(tick), MARGIN - 8, place(tick), height - 10, INK if tick == 1 else GRID)
            yield _text(place(tick), MARGIN - 12, f"{tick:g}x", anchor="middle")
        for number, bar in enumerate(bars):
            top = MARGIN + number * ROW_HEIGHT
            left, right = sorted((place(1), place(bar.ratio)))
            yield _text(LABELS - 10, top + 13, bar.label, anchor="end")
            yield _box(left, top + 3, max(right - left, 1), ROW_HEIGHT - 6, OTTLA if bar.ratio >= bar.wanted else KAFKA)
            yield _box(place(bar.wanted) - 1, top + 1, 2, ROW_HEIGHT - 2, INK)
            yield _text(right + 4, top + 13, f"{bar.ratio:.2g}" if bar.ratio < 10 else f"{bar.ratio:.0f}")

    return _document(LABELS + PLOT + 60, height, parts())


@dataclass(frozen=True, slots=True)
class Panel:
    """The same thing timed on both servers: counts per bucket."""

    title: str
    kafka: Sequence[int]
    ottla: Sequence[int]


PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 470, 190, 2


def histograms(panels: Sequence[Panel], bounds: Sequence[float]) -> str:
    """Shares of all requests by latency, on a logarithmic scale, so that one slow request in thousands is seen."""
    rows = math.ceil(len(panels) / COLUMNS)

    def parts() -> Iterator[str]:
        yield _box(40, 8, 12, 12, KAFKA)
        yield _text(58, 18, "Apache Kafka")
        yield _box(160, 8, 12, 12, OTTLA)
        yield _text(178, 18, "Ottla")
        for number, panel in enumerate(panels):
            row, column = divmod(number, COLUMNS)
            yield f'<g transform="translate({column * PANEL_WIDTH},{30 + row * PANEL_HEIGHT})">'
            yield from _panel(panel, bounds)
            yield "</g>"

    return _document(PANEL_WIDTH * COLUMNS, 40 + rows * PANEL_HEIGHT, parts())


SMALLEST_SHARE = 1e-5


def _panel(panel: Panel, bounds: Sequence[float]) -> Iterator[str]:
    left, top, height = 50, 24, 120
    slot = (PANEL_WIDTH - left - 20) / (len(bounds) + 1)

    def height_of(share: float) -> float:
        return height * (1 - math.log10(max(share, SMALLEST_SHARE)) / math.log10(SMALLEST_SHARE))

    yield _text(left, 14, panel.title)
    for power in range(0, -5, -1):
        y = top + height - height_of(10.0**power)
        yield _line(left, y, PANEL_WIDTH - 20, y, GRID)
        yield _text(left - 4, y + 4, f"{10.0**power * 100:g} %", anchor="end")
    for position, counts, colour in ((0.1, panel.kafka, KAFKA), (0.5, panel.ottla, OTTLA)):
        total = sum(counts) or 1
        for bucket, count in enumerate(counts):
            if count:
                bar = max(height_of(count / total), 1.0)
                yield _box(left + (bucket + position) * slot, top + height - bar, slot * 0.4, bar, colour)
    for bucket, bound in enumerate(bounds):
        if bucket % 3 == 0:
            yield _text(left + (bucket + 1) * slot, top + height + 16, f"{bound:g} ms", anchor="middle")
