"""What a request costs a broker: CPU per message, Ottla and Apache Kafka side by side.

    .venv/bin/python bench/broker.py [--rounds 3] [--servers ottla,kafka]

Servers run at the same time and take turns, round by round, on the same machine and from the same client (librdkafka
through confluent-kafka). Read the CPU columns: they hardly depend on what else the machine does, while wall-clock rates
are mostly the client's own. The JVM gets a warm-up round that is not counted. Nothing here is asserted by any test.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from harness.servers import KINDS, Server

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PARTITIONS = 6


@dataclass(frozen=True)
class Work:
    name: str
    messages: int
    run: Callable[[str, int], None]


def produce(size: int, **settings: object) -> Callable[[str, int], None]:
    def run(bootstrap: str, messages: int) -> None:
        producer = Producer(
            {"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 1_000_000, "acks": 1, **settings}
        )
        value = bytes(size)
        for number in range(messages):
            while True:
                try:
                    producer.produce("bench", value, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.01)
        assert producer.flush(120) == 0

    return run


def consume(bootstrap: str, messages: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition("bench-read", 0, 0)])
    left = messages
    while left > 0:
        left -= len(consumer.consume(10_000, timeout=10))
    consumer.close()


def fill(bootstrap: str, messages: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("bench", PARTITIONS, 1), NewTopic("bench-read", 1, 1)]
    for future in admin.create_topics(topics).values():
        future.result()
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 1_000_000, "linger.ms": 20})
    for _ in range(messages):
        producer.produce("bench-read", bytes(1024))
    assert producer.flush(120) == 0


WORKS = [
    Work("produce 100 B, batched, acks=1", 500_000, produce(100, **{"linger.ms": 5})),
    Work("produce 1 KiB, batched, acks=1", 200_000, produce(1024, **{"linger.ms": 5})),
    Work("produce 100 B, one record a request", 30_000, produce(100, **{"batch.num.messages": 1, "linger.ms": 0})),
    Work(
        "produce 100 B, idempotent, acks=all",
        500_000,
        produce(100, **{"linger.ms": 5, "acks": "all", "enable.idempotence": True}),
    ),
    Work("consume 1 KiB", 200_000, consume),
]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def resident_megabytes(pid: int) -> int:
    line = next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def measure(server: Server, work: Work) -> tuple[float, float]:
    """CPU microseconds per message, messages per second."""
    before, started = cpu_seconds(server.pid), time.perf_counter()
    work.run(server.bootstrap, work.messages)
    elapsed = time.perf_counter() - started
    return (cpu_seconds(server.pid) - before) / work.messages * 1e6, work.messages / elapsed


def main() -> None:
    arguments = argparse.ArgumentParser(description="Broker CPU per message, side by side.")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--servers", default="ottla,kafka")
    options = arguments.parse_args()
    names = options.servers.split(",")
    with tempfile.TemporaryDirectory() as directory:
        servers: dict[str, Server] = {}
        for name in names:
            home = Path(directory) / name
            home.mkdir()
            servers[name] = KINDS[name](home)
            started = time.perf_counter()
            servers[name].start()
            elapsed = time.perf_counter() - started
            print(f"{name}: answers after {elapsed:.1f} s, {resident_megabytes(servers[name].pid)} MB")
            fill(servers[name].bootstrap, 200_000)
        try:
            report(servers, options.rounds)
        finally:
            for server in servers.values():
                server.close()


def report(servers: dict[str, Server], rounds: int) -> None:
    for work in WORKS:
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
        for number in range(rounds + 1):
            for name, server in servers.items():
                sample = measure(server, work)
                if number > 0:
                    samples[name].append(sample)
        cells = []
        for name, values in samples.items():
            costs, rates = [cost for cost, _ in values], [rate for _, rate in values]
            spread = f"{min(costs):.2f}-{max(costs):.2f}"
            cells.append(f"{name} {statistics.median(costs):7.2f} us ({spread}), {statistics.median(rates):,.0f}/s")
        print(f"{work.name:38} {'   '.join(cells)}", flush=True)
    for name, server in servers.items():
        print(f"{name}: {resident_megabytes(server.pid)} MB resident after the load")


if __name__ == "__main__":
    main()
