"""The rows: batches, micro-batches, copies from topic to topic, and how long a record takes on its way."""

import json
import subprocess
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.generators import GeneratorFailed, percentiles
from bench.pipeline.contenders import CONTENDERS, STOCK
from bench.pipeline.drivers import Driver, Drivers
from bench.pipeline.filled_topics import PARTITIONS, FilledTopics
from bench.pipeline.job import Job
from bench.row import Measure, Measured, Metrics, Row, scaled
from bench.servers import Bed, Beds

# Bytes of a value, and how many records are read.
SIZES = {"100b": (100, 4_000_000), "1k": (1024, 1_000_000)}
PER_S = 500
SECONDS = 20.0

LEVEL = {"rows": 1.0}
STREAM = {"rows": 0.8}
EXACTLY_ONCE = {"rows": 0.7}
LATENCY = {"p50_ms": 1 / 1.5, "p99_ms": 1 / 1.5}


@dataclass(frozen=True, slots=True)
class Means:
    """What rows share."""

    drivers: Drivers
    topics: FilledTopics


class PipelineRow(Row):
    """`wanted_of`: what is wanted of each contender, against Spark's own connector."""

    def __init__(
        self, means: Means, name: str, title: str, command: str, wanted_of: Mapping[str, Mapping[str, float]]
    ) -> None:
        super().__init__(name, title, command)
        self.wanted_of = wanted_of
        self._means = means

    def kinds(self, servers: Sequence[str]) -> Sequence[str]:
        return [f"{server}/{one}" for server in super().kinds(servers) for one in (STOCK, *self.wanted_of)]

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        server, _, contender = kind.partition("/")
        bed, driver = beds.get(server, {}), self._means.drivers.get(contender)
        yield lambda: Measured(self._measure(bed, driver, scale))

    @abstractmethod
    def _measure(self, bed: Bed, driver: Driver, scale: float) -> Metrics: ...


class RateRow(PipelineRow):
    """A query over all records of a topic."""

    def __init__(
        self,
        means: Means,
        query: str,
        size: str,
        title: str,
        command: str,
        wanted_of: Mapping[str, Mapping[str, float]],
    ) -> None:
        super().__init__(means, f"{query}-{size}", title, command, wanted_of)
        self._query = query
        self._size, self._count = SIZES[size]

    def _measure(self, bed: Bed, driver: Driver, scale: float) -> Metrics:
        count = scaled(self._count, scale, 1000)
        source = self._means.topics.get(bed, self._size, count)
        with self._means.drivers.directory() as directory, bed.topic(PARTITIONS) as target:
            job = Job(self._query, bed.bootstrap, source, target, directory, count)
            with bed.cpu() as broker_cpu, driver.cost() as cost:
                done = driver.ask(job)
        metrics = {"rows": count / (done.batches_s or done.query_s)}
        if done.batches_s is not None:
            metrics["query_s"] = done.query_s
        return metrics | {
            "spark_cpu_us": cost.cpu_s / count * 1e6,
            "broker_cpu_us": broker_cpu.us_per(count),
            "spark_mb": cost.peak_mb,
        }


class LatencyRow(PipelineRow):
    """A query that goes on, while a few records a second come."""

    def __init__(
        self, means: Means, size: str, title: str, command: str, wanted_of: Mapping[str, Mapping[str, float]]
    ) -> None:
        super().__init__(means, f"latency-{size}", title, command, wanted_of)
        self._size = SIZES[size][0]

    def _measure(self, bed: Bed, driver: Driver, scale: float) -> Metrics:
        seconds = max(SECONDS * scale, 5.0)
        means = self._means
        with means.drivers.directory() as directory, bed.topic(PARTITIONS) as source, bed.topic(PARTITIONS) as target:
            driver.ask(Job("start-copy", bed.bootstrap, source, target, directory, 0))
            try:
                with driver.cost() as cost:
                    latencies_ms = timed_records(bed, source, target, self._size, seconds)
            finally:
                # If the query has failed, this says why.
                driver.ask(Job("stop", bed.bootstrap, source, target, directory, 0))
        found = percentiles(latencies_ms)
        return {
            "p50_ms": found.p50_ms,
            "p99_ms": found.p99_ms,
            "spark_cpu_us": cost.cpu_s / len(latencies_ms) * 1e6,
            "spark_mb": cost.peak_mb,
        }


def timed_records(bed: Bed, source: str, target: str, size: int, seconds: float) -> list[float]:
    """In milliseconds, in order."""
    arguments = map(str, (bed.bootstrap, source, target, size, PER_S, seconds))
    command = [sys.executable, "-m", "bench.pipeline.timed_records", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise GeneratorFailed(done.stderr.splitlines()[-1])
    return sorted(value / 1000 for value in json.loads(done.stdout))


def rows(means: Means) -> list[PipelineRow]:
    source = next(name for name in CONTENDERS if name != STOCK)
    batch, stream = {source: LEVEL}, {source: STREAM}
    into_topic = {"ottla": STREAM, "exactly-once": EXACTLY_ONCE}
    latency = dict.fromkeys(into_topic, LATENCY)
    found: list[PipelineRow] = []
    for size, (value_bytes, _) in SIZES.items():
        words = f"{value_bytes:,} B" if value_bytes < 1024 else f"{value_bytes // 1024} KiB"
        found += [
            RateRow(means, "count", size, f"topic -> count, {words}", "`df.count()`", batch),
            RateRow(means, "read", size, f"topic -> nothing, {words}", '`df.write.format("noop")`', batch),
            RateRow(means, "parquet", size, f"topic -> Parquet, {words}", "`df.write.parquet(...)`", batch),
            RateRow(
                means,
                "stream",
                size,
                f"micro-batches -> nothing, {words}",
                '`df.writeStream.format("noop")`, availableNow in four batches',
                stream,
            ),
            RateRow(
                means,
                "stream-parquet",
                size,
                f"micro-batches -> Parquet, {words}",
                '`df.writeStream.format("parquet")`, availableNow in four batches',
                stream,
            ),
            RateRow(
                means,
                "copy",
                size,
                f"topic -> topic, {words}",
                '`df.select("key", "value").writeStream.format(...)` or `write_topic`, availableNow in four batches',
                into_topic,
            ),
            LatencyRow(
                means,
                size,
                f"from topic to topic, {PER_S} records of {words} a second",
                "the same as fast as batches come, read by librdkafka with isolation.level=read_committed",
                latency,
            ),
        ]
    return found
