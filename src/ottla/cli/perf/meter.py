"""Counting while a load runs: in all, since a warm-up, and since the last report.

Pure: time comes as an argument. What is counted goes into one tally, the current one, which is added to the others when
a report is due: counting is on the way of every record.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ottla.cli.perf.latencies import Latencies

_MEBIBYTE: Final = 1_048_576


@dataclass(slots=True)
class Tally:
    """Records, bytes and latencies over some time."""

    started_s: float
    records: int = 0
    bytes: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    ended_s: float = 0.0

    def merge(self, other: "Tally") -> None:
        self.records += other.records
        self.bytes += other.bytes
        self.latencies.merge(other.latencies)
        self.ended_s = max(self.ended_s, other.ended_s)

    @property
    def seconds(self) -> float:
        return max(self.ended_s - self.started_s, 1e-3)

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def mebibytes(self) -> float:
        return self.bytes / _MEBIBYTE

    @property
    def mebibytes_per_s(self) -> float:
        return self.mebibytes / self.seconds

    def row(self) -> dict[str, object]:
        """As commands show it: stable names, units in them."""
        shown: dict[str, object] = {
            "records": self.records,
            "seconds": round(self.seconds, 3),
            "records_per_s": round(self.records_per_s, 1),
            "mib_per_s": round(self.mebibytes_per_s, 3),
        }
        if self.latencies.count:
            shown |= {f"{name}_ms": round(value, 3) for name, value in self.latencies.summary().items()}
        return shown


class Meter:
    """The tally of a whole run, one after a warm-up, and one for each interval, which is reported when it is over."""

    def __init__(
        self,
        started_s: float,
        interval_s: float,
        report: Callable[[Tally], None],
        *,
        warmup_records: int = 0,
    ) -> None:
        self.records = 0
        self.total = Tally(started_s)
        self.steady: Tally | None = None
        self._window = Tally(started_s)
        self._current = Tally(started_s)
        self._interval_s = interval_s
        self._report = report
        self._warmup_records = warmup_records

    def add(self, records: int, size_bytes: int, now_s: float, latency_ms: float | None = None) -> None:
        """Some records are through, all after the same time."""
        if latency_ms is not None:
            self._current.latencies.add(latency_ms, records)
        self._count(records, size_bytes, now_s)

    def add_all(self, latencies_ms: Sequence[float], size_bytes: int, now_s: float) -> None:
        """Some records are through, each after its own time."""
        cold = self._warmup_records - self.records if self.steady is None else 0
        if 0 < cold < len(latencies_ms):
            # The warm-up ends among these.
            cold_bytes = size_bytes * cold // len(latencies_ms)
            self.add_all(latencies_ms[:cold], cold_bytes, now_s)
            self.add_all(latencies_ms[cold:], size_bytes - cold_bytes, now_s)
            return
        self._current.latencies.add_all(latencies_ms)
        self._count(len(latencies_ms), size_bytes, now_s)

    def finish(self) -> None:
        """All records are through: `total` and `steady` have them."""
        current = self._current
        for tally in (self.total, self._window, self.steady):
            if tally is not None:
                tally.merge(current)
        self._current = Tally(current.ended_s)

    def _count(self, records: int, size_bytes: int, now_s: float) -> None:
        current = self._current
        self.records += records
        current.records += records
        current.bytes += size_bytes
        current.ended_s = now_s
        if self._warmup_records and self.steady is None and self.records >= self._warmup_records:
            self.finish()
            self.steady = Tally(now_s)
        if now_s - self._window.started_s >= self._interval_s:
            self.finish()
            self._report(self._window)
            self._window = Tally(now_s)
