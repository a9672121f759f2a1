"""Latencies of many records, and their average, maximum and percentiles.

They are counted in steps of 10 us, so a run of any length takes the memory of the different latencies that it had.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

PERCENTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_STEPS_PER_MS: Final = 100


@dataclass(slots=True)
class Latencies:
    """Latencies in ms."""

    count: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    _steps: Counter[int] = field(default_factory=Counter)

    def add(self, latency_ms: float, count: int = 1) -> None:
        """Add the latency of `count` records."""
        self.count += count
        self.total_ms += latency_ms * count
        self.max_ms = max(self.max_ms, latency_ms)
        self._steps[round(latency_ms * _STEPS_PER_MS)] += count

    def add_all(self, latencies_ms: Sequence[float]) -> None:
        """One record had each of these."""
        if latencies_ms:
            self.count += len(latencies_ms)
            self.total_ms += sum(latencies_ms)
            self.max_ms = max(self.max_ms, *latencies_ms)
            self._steps.update([round(latency_ms * _STEPS_PER_MS) for latency_ms in latencies_ms])

    def merge(self, other: "Latencies") -> None:
        """Take over what another one has counted."""
        self.count += other.count
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)
        self._steps.update(other._steps)

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0

    def percentiles_ms(self, fractions: Sequence[float]) -> list[float]:
        """For each fraction, in ascending order, the latency that so many records did not exceed."""
        found: list[float] = []
        seen, step = 0, 0
        steps = iter(sorted(self._steps))
        for fraction in fractions:
            while seen < fraction * self.count:
                step = next(steps)
                seen += self._steps[step]
            found.append(step / _STEPS_PER_MS)
        return found

    def summary(self) -> dict[str, float]:
        """Everything by name, in ms."""
        named = dict(zip(PERCENTILES, self.percentiles_ms(list(PERCENTILES.values())), strict=True))
        return {"avg": self.average_ms, **named, "max": self.max_ms}
