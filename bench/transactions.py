"""Rows about transactions: as many records as go into transactions of a certain length, and one record in each."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from bench import generators
from bench.commits import UNCOUNTED
from bench.row import LoadRow, Metrics, Row, scaled
from bench.servers import Bed

PARTITIONS = 6
DURATIONS_MS = {10: "10 ms", 100: "100 ms", 1000: "1 s"}
RECORDS = 1_000_000
COMMITS = 3000
NO_WORSE = {"rate": 1.0, "cpu_us": 1.0}


Load = Callable[[Bed, float], AbstractContextManager[Callable[[], Metrics]]]


def lasting(duration_ms: int) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(RECORDS, scale, 2000)
        with bed.topic(PARTITIONS) as topic:

            def measure() -> Metrics:
                transactional_id = f"bench-{uuid.uuid4()}"
                payload = ("--record-size", "1024", "--transactional-id", transactional_id)
                length = ("--transaction-duration-ms", str(duration_ms))
                with bed.cpu() as cpu:
                    done, latency = generators.producer_performance(
                        bed.bootstrap, topic, count, (*payload, *length), ()
                    )
                return {
                    "rate": done.per_s,
                    "cpu_us": cpu.us_per(count),
                    "transaction_cpu_us": cpu.us_per(bed.transactions_of(transactional_id)),
                    **latency.metrics(),
                }

            yield measure

    return load


@contextmanager
def one_by_one(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
    count = scaled(COMMITS, scale, 100)
    with bed.topic(PARTITIONS) as topic:

        def measure() -> Metrics:
            with bed.cpu() as cpu:
                done, latency = generators.commits(bed.bootstrap, topic, PARTITIONS, count)
            spent_us = cpu.us_per(count + UNCOUNTED)
            return {"rate": done.per_s, "transaction_cpu_us": spent_us, **latency.metrics()}

        yield measure


def rows() -> list[Row]:
    return [
        *(
            LoadRow(
                f"transactions-{name.replace(' ', '')}",
                f"produce 1 KiB in transactions of {name}, Kafka's client",
                f"`ProducerPerformance --record-size 1024 --num-records {RECORDS} --warmup-records {RECORDS // 10} "
                f"--throughput -1 --transactional-id ID --transaction-duration-ms {duration_ms}`",
                lasting(duration_ms),
                NO_WORSE,
            )
            for duration_ms, name in DURATIONS_MS.items()
        ),
        LoadRow(
            "transactions-one",
            "transactions of one record, one after the other, librdkafka",
            f"`bench/commits.py BOOTSTRAP TOPIC {PARTITIONS} {COMMITS}`",
            one_by_one,
            {"rate": 1.0, "transaction_cpu_us": 1.0, "p99_ms": 1.0},
        ),
    ]
