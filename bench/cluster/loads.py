"""Rows about load: rates, the CPU of all nodes, latencies."""

from collections.abc import Sequence

from bench import generators
from bench.cluster.nodes import Nodes
from bench.cluster.row import ClusterRow
from bench.row import Metrics, scaled

PARTITIONS = 6
MEGABYTE = 1_000_000
ACKS_ALL = ("-a", "-1")
BATCHED = (*ACKS_ALL, "-X", "linger.ms=5")
ONE_EACH = (*ACKS_ALL, "-X", "linger.ms=0", "-X", "batch.num.messages=1")
LATENCY_PER_S = 500


def produce(nodes: Nodes, records: int, size: int, options: Sequence[str]) -> Metrics:
    with nodes.topic(PARTITIONS) as topic, nodes.cpu() as cpu:
        done = generators.produce(nodes.bootstrap, topic, records, size, options)
    return {"rate": done.per_s, "cpu_us": cpu.us_per(records)}


def produce_megabytes(nodes: Nodes, records: int, size: int, options: Sequence[str]) -> Metrics:
    found = produce(nodes, records, size, options)
    return {"mb_s": found["rate"] * size / MEGABYTE, "cpu_ms_mb": found["cpu_us"] / size * MEGABYTE / 1000}


def acknowledgement(nodes: Nodes, scale: float) -> Metrics:
    records = scaled(3000, scale, 500)
    options = (*ACKS_ALL, "-X", "linger.ms=0")
    with nodes.topic(PARTITIONS) as topic, nodes.cpu() as cpu:
        latency = generators.acknowledgement_latency(nodes.bootstrap, topic, LATENCY_PER_S, records, options)
    return {"p50_ms": latency.p50_ms, "p99_ms": latency.p99_ms, "cpu_us": cpu.us_per(records)}


def end_to_end(nodes: Nodes, scale: float) -> Metrics:
    with nodes.topic(1) as topic:
        return generators.end_to_end_latency(nodes.bootstrap, topic, scaled(2000, scale, 200), "all")


def rows() -> list[ClusterRow]:
    rdkafka = "rdkafka_performance -P"
    as_good = {"rate": 1.0, "cpu_us": 1.0}
    return [
        ClusterRow(
            "produce-100b",
            "produce 100 B, batched",
            f"`{rdkafka} -s 100 -c 2000000 {' '.join(BATCHED)}`",
            lambda nodes, scale: produce(nodes, scaled(2_000_000, scale, 1000), 100, BATCHED),
            as_good,
            warm_ups=2,
            per_turn=2,
        ),
        ClusterRow(
            "produce-1k",
            "produce 1 KiB, batched",
            f"`{rdkafka} -s 1024 -c 200000 {' '.join(BATCHED)}`",
            lambda nodes, scale: produce_megabytes(nodes, scaled(200_000, scale, 1000), 1024, BATCHED),
            {"mb_s": 1.0, "cpu_ms_mb": 1.0},
            warm_ups=2,
            per_turn=2,
        ),
        ClusterRow(
            "produce-one",
            "produce 100 B, one record a request",
            f"`{rdkafka} -s 100 -c 10000 {' '.join(ONE_EACH)}`",
            lambda nodes, scale: produce(nodes, scaled(10_000, scale, 500), 100, ONE_EACH),
            {"rate": 1.0, "cpu_us": 1.5},
            warm_ups=2,
            per_turn=2,
        ),
        ClusterRow(
            "ack-latency",
            f"acknowledgement, {LATENCY_PER_S} records of 100 B a second",
            f"`{rdkafka} -s 100 -r {LATENCY_PER_S} -c 3000 -a -1 -X linger.ms=0 -l -A FILE`",
            acknowledgement,
            {"p99_ms": 1.0},
            warm_ups=1,
            per_turn=2,
        ),
        ClusterRow(
            "end-to-end",
            "from send to receipt, one record at a time",
            "`EndToEndLatency BOOTSTRAP TOPIC 2000 all 100`",
            end_to_end,
            {"mean_ms": 1.0},
            per_turn=2,
        ),
    ]
