"""Rows about latency at a rate that both servers can carry easily."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench import generators
from bench.row import LoadRow, Metrics, Row, scaled
from bench.servers import Bed

PER_S = 2000
NO_WORSE = {"p99_ms": 1.0}


@contextmanager
def acknowledgement(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
    count = scaled(60_000, scale, 2000)
    options = ("-a", "-1", "-X", "linger.ms=0")
    with bed.topic(6) as topic:

        def measure() -> Metrics:
            with bed.cpu() as cpu:
                latency = generators.acknowledgement_latency(bed.bootstrap, topic, PER_S, count, options)
            return {**latency.metrics(), "cpu_us": cpu.us_per(count)}

        yield measure


@contextmanager
def end_to_end(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
    count = scaled(10_000, scale, 500)
    with bed.topic(1) as topic:
        yield lambda: generators.end_to_end_latency(bed.bootstrap, topic, count)


def rows() -> list[Row]:
    return [
        LoadRow(
            "ack-latency",
            f"acknowledgement, {PER_S:,} records of 100 B a second, acks=all",
            f"`rdkafka_performance -P -s 100 -r {PER_S} -c 60000 -a -1 -X linger.ms=0 -l -A FILE`",
            acknowledgement,
            NO_WORSE,
        ),
        LoadRow(
            "end-to-end",
            "from send to receipt, one record at a time, acks=1",
            "`EndToEndLatency BOOTSTRAP TOPIC 10000 1 100`",
            end_to_end,
            {"mean_ms": 1.0, **NO_WORSE},
        ),
    ]
