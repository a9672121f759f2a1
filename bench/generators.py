"""Load generators that we did not write: librdkafka's rdkafka_performance and Kafka's own tools."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.downloads import downloaded
from harness.java import QUIET, class_path

# As in the scripts of Kafka's distribution.
TOOL_JVM = ("-Xmx512M", "-XX:+UseG1GC", *QUIET)
TIMEOUT_S = 1800
PRODUCERS_QUEUE = ("-X", "queue.buffering.max.messages=500000")


class GeneratorFailed(Exception):
    """A load generator did not do what it was told."""


@dataclass(frozen=True, slots=True)
class Throughput:
    records: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.records / self.seconds


@dataclass(frozen=True, slots=True)
class Latency:
    p50_ms: float
    p99_ms: float
    p999_ms: float

    def metrics(self) -> dict[str, float]:
        return {"p50_ms": self.p50_ms, "p99_ms": self.p99_ms, "p999_ms": self.p999_ms}


def percentiles(sorted_values_ms: Sequence[float]) -> Latency:
    def at(part: float) -> float:
        return sorted_values_ms[min(int(len(sorted_values_ms) * part), len(sorted_values_ms) - 1)]

    return Latency(at(0.5), at(0.99), at(0.999))


def rdkafka_performance(*arguments: str) -> list[str]:
    return [str(downloaded("rdkafka-performance") / "rdkafka_performance"), "-u", *arguments]


def _start(command: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _finish(process: "subprocess.Popen[str]", *, accepted: Sequence[int] = (0,)) -> str:
    said, complaints = process.communicate(timeout=TIMEOUT_S)
    if process.returncode not in accepted:
        raise GeneratorFailed(f"{process.args!r} ended with {process.returncode}:\n{complaints[-2000:]}")
    return said


def _last_row(said: str) -> dict[str, float]:
    """The last line of the table that rdkafka_performance prints."""
    table = [line for line in said.splitlines() if line.startswith("|")]
    if not table:
        raise GeneratorFailed(f"rdkafka_performance said: {said[-500:]}")
    names, values = ([cell.strip() for cell in line.split("|")[1:]] for line in (table[0], table[-1]))
    return dict(zip(names, map(float, values), strict=True))


def _produced(process: "subprocess.Popen[str]", records: int) -> Throughput:
    # It counts what it sent beside what was delivered, without a lock, and ends with 1 if the two differ: its table is
    # asked instead.
    row = _last_row(_finish(process, accepted=(0, 1)))
    if row["dr"] != records:
        raise GeneratorFailed(f"{row['dr']:.0f} of {records} records were delivered")
    return Throughput(records, row["elapsed"] / 1000)


def produce_command(bootstrap: str, topic: str, records: int, size: int, options: Sequence[str]) -> list[str]:
    target = ("-P", "-b", bootstrap, "-t", topic, "-c", str(records), "-s", str(size))
    return rdkafka_performance(*target, *PRODUCERS_QUEUE, *options)


def produce(bootstrap: str, topic: str, records: int, size: int, options: Sequence[str]) -> Throughput:
    return _produced(_start(produce_command(bootstrap, topic, records, size, options)), records)


def produce_from_many(
    bootstrap: str, topic: str, producers: int, records: int, size: int, options: Sequence[str]
) -> Throughput:
    """Producers that start together, each with its share of the records; from the first start to the last end."""
    share = records // producers
    started = time.monotonic()
    running = [_start(produce_command(bootstrap, topic, share, size, options)) for _ in range(producers)]
    for process in running:
        _produced(process, share)
    return Throughput(share * producers, time.monotonic() - started)


def acknowledgement_latency(bootstrap: str, topic: str, per_s: int, records: int, options: Sequence[str]) -> Latency:
    """From the call that hands a record to the client to its delivery report, at a fixed rate."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "latencies"
        paced = ("-r", str(per_s), "-l", "-A", str(file), *options)
        produce(bootstrap, topic, records, 100, paced)
        values_ms = [int(line) / 1000 for line in file.read_text().split()]
    # The first ones wait for the connection.
    return percentiles(sorted(values_ms[len(values_ms) // 20 :]))


def consume_command(bootstrap: str, topic: str, partitions: Sequence[int], records: int) -> list[str]:
    which = [part for partition in partitions for part in ("-p", str(partition))]
    return rdkafka_performance("-C", "-b", bootstrap, "-t", topic, *which, "-o", "beginning", "-c", str(records))


def consume(bootstrap: str, topic: str, shares: Sequence[Sequence[int]], records: int) -> Throughput:
    """One consumer for each share of the partitions, each for the same number of records."""
    each = records // len(shares)
    running = [_start(consume_command(bootstrap, topic, partitions, each)) for partitions in shares]
    rows = [_last_row(_finish(process)) for process in running]
    elapsed_ms = max(1.0, *(row["elapsed"] for row in rows))
    return Throughput(sum(int(row["msgs"]) for row in rows), elapsed_ms / 1000)


def kafka_tool(name: str, *arguments: str) -> str:
    command = ["java", *TOOL_JVM, "-cp", class_path(), f"org.apache.kafka.tools.{name}", *arguments]
    return _finish(_start(command))


def producer_performance(
    bootstrap: str, topic: str, records: int, payload: Sequence[str], properties: Sequence[str]
) -> tuple[Throughput, Latency]:
    """Kafka's ProducerPerformance as fast as it can; its first tenth warms the client up and does not count."""
    target = ("--bootstrap-server", bootstrap, "--topic", topic, "--throughput", "-1")
    counts = ("--num-records", str(records), "--warmup-records", str(records // 10))
    given = ("--command-property", *properties) if properties else ()
    said = kafka_tool("ProducerPerformance", *target, *counts, *payload, *given)
    line = said.strip().splitlines()[-1]
    numbers = re.search(
        r"(\d+) steady state records sent, ([\d.]+) records/sec.* (\d+) ms 50th.* (\d+) ms 99th, (\d+) ms 99.9",
        line,
    )
    if numbers is None:
        raise GeneratorFailed(f"ProducerPerformance said: {line}")
    count, rate, p50, p99, p999 = map(float, numbers.groups())
    return Throughput(int(count), count / rate), Latency(p50, p99, p999)


def commits(bootstrap: str, topic: str, partitions: int, transactions: int) -> tuple[Throughput, Latency]:
    """Transactions of one record, one after the other."""
    program = str(Path(__file__).with_name("commits.py"))
    said = _finish(_start([sys.executable, program, bootstrap, topic, str(partitions), str(transactions)]))
    values_ms = [int(line) / 1000 for line in said.split()]
    return Throughput(len(values_ms), sum(values_ms) / 1000), percentiles(sorted(values_ms))


def consumer_performance(bootstrap: str, topic: str, records: int) -> Throughput:
    """Kafka's ConsumerPerformance; the time until the group has its partitions does not count."""
    said = kafka_tool(
        "ConsumerPerformance", "--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records)
    )
    names, values = ([cell.strip() for cell in line.split(",")] for line in said.strip().splitlines()[-2:])
    row = dict(zip(names, values, strict=True))
    return Throughput(int(row["data.consumed.in.nMsg"]), int(row["fetch.time.ms"]) / 1000)


def end_to_end_latency(bootstrap: str, topic: str, records: int, acks: str = "1") -> dict[str, float]:
    """Kafka's EndToEndLatency: one record at a time, from send to receipt; percentiles in whole milliseconds."""
    said = kafka_tool("EndToEndLatency", bootstrap, topic, str(records), acks, "100")
    average = re.search(r"Avg latency: ([\d.]+) ms", said)
    found = re.search(r"50th = (\d+), 99th = (\d+), 99.9th = (\d+)", said)
    if average is None or found is None:
        raise GeneratorFailed(f"EndToEndLatency said: {said[-500:]}")
    return {"mean_ms": float(average.group(1)), **Latency(*map(float, found.groups())).metrics()}
