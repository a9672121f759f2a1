"""Rows about stalls: what one client waits while the server is busy with something for another one."""

import bisect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from bench import disturbances
from bench.generators import percentiles
from bench.row import Measure, Measured, Row
from bench.servers import Bed, Beds

PER_S = 200
SECONDS = 20.0
# Upper bounds in milliseconds; one bucket more holds what is above.
BOUNDS_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)

Disturbance = Callable[[Bed, float], AbstractContextManager[None]]


def histogram(values_ms: Sequence[float]) -> list[int]:
    counts = [0] * (len(BOUNDS_MS) + 1)
    for value in values_ms:
        counts[bisect.bisect_left(BOUNDS_MS, value)] += 1
    return counts


def run_probe(bed: Bed, topic: str, seconds: float) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "bench.probe", str(bed.server.port), topic, str(PER_S), str(seconds)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {name: sorted(value / 1000 for value in values) for name, values in found.items()}


class StallRow(Row):
    def __init__(self, name: str, title: str, command: str, disturbance: Disturbance) -> None:
        super().__init__(name, title, command)
        self._disturbance = disturbance

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        bed = beds.get(kind, disturbances.SETTINGS)
        seconds = max(SECONDS * scale, 2.0)
        with bed.topic(1) as topic:

            def measure() -> Measured:
                with self._disturbance(bed, scale):
                    found = run_probe(bed, topic, seconds)
                metrics = percentiles(found["produce"]).metrics() | {
                    "max_ms": found["produce"][-1],
                    "ping_p99_ms": percentiles(found["ping"]).p99_ms,
                    "ping_max_ms": found["ping"][-1],
                }
                return Measured(metrics, {name: histogram(values) for name, values in found.items()})

            yield measure


def rows() -> list[Row]:
    return [
        StallRow("stall-none", "nothing else", "the probe alone", disturbances.nothing),
        StallRow(
            "stall-cold-fetch",
            "a fetch of cold data",
            "`rdkafka_performance -C` over 2 GiB that is not in memory, over and over",
            disturbances.cold_fetch,
        ),
        StallRow(
            "stall-retention",
            "a retention pass",
            "1,000 segments of 1 MiB lose their right to stay",
            disturbances.retention,
        ),
        StallRow(
            "stall-snapshot",
            "producer and metadata snapshots",
            "a partition with 10,000 producer ids rolls four times a second; topics are created beside 2,000 "
            "partitions; there is a metadata snapshot for every 50 kB of changes",
            disturbances.snapshots,
        ),
        StallRow(
            "stall-fsync",
            "fsync of much data",
            "`rdkafka_performance -P -s 1024 -r 40000` into a topic with flush.messages=1",
            disturbances.fsync,
        ),
    ]
