"""Rows about a cluster's life: its start, its memory, and a follower that comes back."""

import time

from bench import generators
from bench.cluster.loads import BATCHED, MEGABYTE, PARTITIONS
from bench.cluster.nodes import WAIT_S, Nodes
from bench.cluster.row import ClusterRow
from bench.row import Metrics, scaled

IDLE_S = 5.0
POLL_S = 0.005


def start(nodes: Nodes, _scale: float) -> Metrics:
    return {"first_s": nodes.first_acknowledged_s}


def idle_memory(nodes: Nodes, _scale: float) -> Metrics:
    time.sleep(IDLE_S)
    return nodes.memory()


def loaded_memory(nodes: Nodes, _scale: float) -> Metrics:
    return nodes.memory()


def catch_up(nodes: Nodes, scale: float) -> Metrics:
    """A follower that was stopped while the others went on. Its own start, before it fetches, does not count."""
    records = scaled(300_000, scale, 2000)
    with nodes.topic(PARTITIONS) as topic:
        away = next(broker for broker in nodes.brokers if broker != nodes.active_controller())
        nodes.brokers[away].stop()
        generators.produce(nodes.bootstrap, topic, records, 1024, BATCHED)
        missing = nodes.log_bytes(nodes.others(away)[0], topic)
        nodes.brokers[away].launch()
        deadline_s = time.monotonic() + WAIT_S
        while not (held := nodes.log_bytes(away, topic)):
            time.sleep(POLL_S)
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the follower has fetched nothing within {WAIT_S:g} s")
        began_s = time.monotonic()
        with nodes.cpu() as cpu:
            while (now := nodes.log_bytes(away, topic)) < missing:
                time.sleep(POLL_S)
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"the follower has {now} of {missing} bytes after {WAIT_S:g} s")
            took_s = time.monotonic() - began_s
        nodes.settle(topic, PARTITIONS)
    fetched_mb = (missing - held) / MEGABYTE
    return {"mb_s": fetched_mb / took_s, "cpu_ms_mb": cpu.seconds * 1000 / fetched_mb}


def first_rows() -> list[ClusterRow]:
    """Those of a cluster that has done nothing yet."""
    return [
        ClusterRow(
            "start",
            "start of a cluster",
            "from the start of three formatted nodes to a record that librdkafka sees acknowledged, in a topic that "
            "is created for it",
            start,
        ),
        ClusterRow(
            "memory-idle",
            "memory of a new cluster",
            f"resident memory of three nodes after {IDLE_S:g} s without load; PSS counts what they share once",
            idle_memory,
            {"rss_mb": 4.0, "pss_mb": 4.0},
        ),
    ]


def later_rows() -> list[ClusterRow]:
    """Those of a cluster that has carried the load."""
    return [
        ClusterRow(
            "memory-loaded",
            "memory after the load",
            "the same after all rows above",
            loaded_memory,
            {"rss_mb": 4.0, "pss_mb": 4.0},
        ),
        ClusterRow(
            "catch-up",
            "a follower catches up on 300 MB",
            "stopped, 300,000 records of 1 KiB to the others, started; from the first bytes that it fetched to the "
            "last; CPU of all three nodes meanwhile",
            catch_up,
            {"mb_s": 1.0, "cpu_ms_mb": 1.0},
        ),
    ]
