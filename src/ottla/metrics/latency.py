"""How long something took, many times over: a histogram of microseconds with four buckets for each power of two.

An observation costs one addition to a list, and a quantile is at most a quarter too large. Quantiles are about the last
minute or two, as in Kafka, because an alert is about now: the histogram itself only ever grows, and `recent` subtracts
what it was a while ago.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

# Enough for any number of microseconds below 2**63.
_BUCKETS: Final = 248
# Where Prometheus's histogram ends: 67 s, more than a request is asked to wait.
_SHOWN_US_MAX: Final = 2**26

WINDOW_S: Final = 60.0


class Latency:
    """A histogram."""

    __slots__ = ("_marks", "counts", "sum_us")

    def __init__(self) -> None:
        self.counts = [0] * _BUCKETS
        self.sum_us = 0
        # What the counts were, when; oldest first, the second one at least a window old.
        self._marks: deque[tuple[float, list[int]]] = deque()

    def observe(self, us: int, times: int = 1) -> None:
        """Counts a duration that something took once, or each of several times."""
        self.sum_us += us * times
        exponent = (us | 7).bit_length() - 3
        self.counts[(exponent << 2) + (us >> exponent)] += times

    def recent(self, now_s: float) -> list[int]:
        """The counts of the last window, or a little more, or all that there are."""
        marks = self._marks
        if not marks:
            marks.append((now_s, [0] * _BUCKETS))
        elif now_s - marks[-1][0] >= WINDOW_S / 2:
            marks.append((now_s, self.counts.copy()))
        while len(marks) > 1 and now_s - marks[1][0] >= WINDOW_S:
            marks.popleft()
        return [now - before for now, before in zip(self.counts, marks[0][1], strict=True)]


def merged(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """The counts of two histograms together."""
    return [a + b for a, b in zip(one, other, strict=True)]


def quantile_us(counts: Sequence[int], share: float) -> float:
    """The duration that this share of the observations stays within; NaN without observations."""
    wanted = share * sum(counts)
    if wanted == 0:
        return float("nan")
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return _end_us(index)
    raise AssertionError("the buckets hold every observation")


def cumulative(counts: Sequence[int]) -> list[tuple[float, int]]:
    """For each power of four from 64 us to 67 s, in seconds, how many observations were shorter."""
    rows: list[tuple[float, int]] = []
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        end_us = _end_us(index)
        if 64 <= end_us <= _SHOWN_US_MAX and end_us.bit_count() == 1 and end_us.bit_length() % 2 == 1:
            rows.append((end_us / 1_000_000, seen))
    return rows


def _end_us(index: int) -> int:
    """Where a bucket ends, exclusive."""
    exponent = max((index >> 2) - 1, 0)
    return (index - (exponent << 2) + 1) << exponent
