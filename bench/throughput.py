"""Rows about rates and CPU: producing and consuming as fast as it goes, with librdkafka and with Kafka's clients."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench import generators
from bench.row import LoadRow, Metrics, Row, scaled, shares
from bench.servers import Bed, drop_page_cache

Load = Callable[[Bed, float], AbstractContextManager[Callable[[], Metrics]]]

PARTITIONS = 6
BATCHED = ("-X", "linger.ms=5")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
AS_GOOD = {"rate": 1.0, "cpu_us": 1.0}
# How many times the floor's CPU a request may cost: what is done once for a batch is little beside a large one.
BATCHED_MULTIPLE = 1.25
ONE_RECORD_MULTIPLE = 2.0


def produce(records: int, size: int, *options: str, partitions: int = PARTITIONS) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(records, scale, 1000)
        with bed.topic(partitions) as topic:

            def measure() -> Metrics:
                with bed.cpu() as cpu:
                    done = generators.produce(bed.bootstrap, topic, count, size, options)
                return {"rate": done.per_s, "cpu_us": cpu.us_per(count)}

            yield measure

    return load


def produce_from_many(producers: int, records: int, size: int, *options: str) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(records, scale, producers)
        with bed.topic(PARTITIONS) as topic:

            def measure() -> Metrics:
                with bed.cpu() as cpu:
                    done = generators.produce_from_many(bed.bootstrap, topic, producers, count, size, options)
                return {"rate": done.per_s, "cpu_us": cpu.us_per(done.records)}

            yield measure

    return load


def fill(bed: Bed, topic: str, records: int, partitions: int) -> None:
    """1 KiB records, the same number in each partition."""
    for partition in range(partitions):
        where = ("-p", str(partition), *BATCHED)
        generators.produce(bed.bootstrap, topic, records // partitions, 1024, where)


def consume(records: int, consumers: int, *, partitions: int = 4, is_cold: bool = False) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(records, scale, 1000 * partitions)
        with bed.topic(partitions) as topic:
            fill(bed, topic, count, partitions)

            def measure() -> Metrics:
                if is_cold:
                    drop_page_cache(bed.server.data)
                with bed.cpu() as cpu:
                    done = generators.consume(bed.bootstrap, topic, shares(partitions, consumers), count)
                return {"rate": done.per_s, "cpu_us": cpu.us_per(done.records)}

            yield measure

    return load


def java_produce(records: int, payload: Sequence[str], *properties: str) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(records, scale, 2000)
        with bed.topic(PARTITIONS) as topic:

            def measure() -> Metrics:
                with bed.cpu() as cpu:
                    done, latency = generators.producer_performance(bed.bootstrap, topic, count, payload, properties)
                return {"rate": done.per_s, "cpu_us": cpu.us_per(count), **latency.metrics()}

            yield measure

    return load


def java_consume(records: int) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        count = scaled(records, scale, 4000)
        with bed.topic(4) as topic:
            fill(bed, topic, count, 4)

            def measure() -> Metrics:
                with bed.cpu() as cpu:
                    # Its own count may end within a batch.
                    done = generators.consumer_performance(bed.bootstrap, topic, count * 9 // 10)
                return {"rate": done.per_s, "cpu_us": cpu.us_per(done.records)}

            yield measure

    return load


def compressed_produce(codec: str, records: int) -> Load:
    @contextmanager
    def load(bed: Bed, scale: float) -> Iterator[Callable[[], Metrics]]:
        with tempfile.TemporaryDirectory() as directory:
            payload = Path(directory) / "orders.jsonl"
            payload.write_text("\n".join(orders(1000)))
            given = ("--payload-file", str(payload))
            with java_produce(records, given, f"compression.type={codec}", "acks=1")(bed, scale) as measure:
                yield lambda: {name: value for name, value in measure().items() if name in AS_GOOD}

    return load


def orders(count: int) -> Iterator[str]:
    """Lines of JSON of about 1 KiB, as compressible as such records are."""
    chance = random.Random(1)
    for number in range(count):
        lines = [
            {
                "sku": f"{chance.getrandbits(40):010x}",
                "quantity": chance.randint(1, 9),
                "price": chance.randint(100, 99999),
            }
            for _ in range(16)
        ]
        yield json.dumps({"order": number, "customer": f"{chance.getrandbits(64):016x}", "lines": lines})


def rows() -> list[Row]:
    one_each = ("-a", "1", "-X", "linger.ms=0", "-X", "batch.num.messages=1")
    idempotent = (*BATCHED, "-a", "-1", "-X", "enable.idempotence=true")
    spread = ("-a", "1", "-X", "linger.ms=20", "-X", "sticky.partitioning.linger.ms=0")
    acks_1 = ("-a", "1", *BATCHED)
    rdkafka = "rdkafka_performance"
    return [
        LoadRow(
            "produce-100b",
            "produce 100 B, batched, acks=1",
            f"`{rdkafka} -P -s 100 -c 5000000 {' '.join(acks_1)}`",
            produce(5_000_000, 100, *acks_1),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "produce-1k",
            "produce 1 KiB, batched, acks=1",
            f"`{rdkafka} -P -s 1024 -c 1000000 {' '.join(acks_1)}`",
            produce(1_000_000, 1024, *acks_1),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "produce-one",
            "produce 100 B, one record a request, acks=1",
            f"`{rdkafka} -P -s 100 -c 60000 {' '.join(one_each)}`",
            produce(60_000, 100, *one_each),
            {"rate": 3.0, "cpu_us": 3.0},
            ONE_RECORD_MULTIPLE,
        ),
        LoadRow(
            "produce-idempotent",
            "produce 100 B, idempotent, acks=all",
            f"`{rdkafka} -P -s 100 -c 4000000 {' '.join(idempotent)}`",
            produce(4_000_000, 100, *idempotent),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "consume-1",
            "consume 1 KiB, one consumer",
            f"`{rdkafka} -C -p 0 -p 1 -p 2 -p 3 -o beginning -c 3000000`",
            consume(3_000_000, 1),
            AS_GOOD,
        ),
        LoadRow(
            "consume-4",
            "consume 1 KiB, four consumers",
            f"four of `{rdkafka} -C -p N -o beginning -c 750000`",
            consume(3_000_000, 4),
            AS_GOOD,
        ),
        LoadRow(
            "consume-cold",
            "catch up on 2 GiB that is not in memory",
            f"`{rdkafka} -C -p 0 -p 1 -p 2 -p 3 -o beginning -c 2000000` after `posix_fadvise(DONTNEED)` on them",
            consume(2_000_000, 1, is_cold=True),
            AS_GOOD,
        ),
        LoadRow(
            "producers-100",
            "produce 100 B from 100 producers",
            f"100 of `{rdkafka} -P -s 100 -c 20000 {' '.join(acks_1)}`",
            produce_from_many(100, 2_000_000, 100, *acks_1),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "partitions-1000",
            "produce 100 B over 1,000 partitions",
            f"`{rdkafka} -P -s 100 -c 1000000 {' '.join(spread)}`",
            produce(1_000_000, 100, *spread, partitions=1000),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "java-produce",
            "produce 1 KiB, Kafka's client with its defaults",
            "`ProducerPerformance --record-size 1024 --num-records 1000000 --warmup-records 100000 --throughput -1`",
            java_produce(1_000_000, ("--record-size", "1024")),
            AS_GOOD,
            BATCHED_MULTIPLE,
        ),
        LoadRow(
            "java-consume",
            "consume 1 KiB, Kafka's client with its defaults",
            "`ConsumerPerformance --num-records 900000`",
            java_consume(1_000_000),
            AS_GOOD,
        ),
        *(
            LoadRow(
                f"codec-{codec}",
                f"produce 1 KiB of JSON, {codec}",
                "`ProducerPerformance --payload-file orders.jsonl --num-records 300000 --warmup-records 30000 "
                f"--throughput -1 --command-property compression.type={codec} acks=1`",
                compressed_produce(codec, 300_000),
                AS_GOOD,
                BATCHED_MULTIPLE,
            )
            for codec in CODECS
        ),
    ]
