"""The row about compaction: its time, its memory, and what clients of another topic wait meanwhile."""

import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import Producer

from bench.generators import GeneratorFailed, percentiles
from bench.process import resident_megabytes
from bench.row import Measure, Measured, Row, scaled
from bench.servers import Bed, Beds, settle
from bench.stalls import run_probe

RECORDS = 10_000_000
KEYS = 1_000_000
VALUE_BYTES = 60
SEGMENT_BYTES = 100 * 1024 * 1024
# The smallest that a topic may have; a trial needs closed segments too.
SEGMENT_BYTES_MIN = 1024 * 1024
TOPIC = "table"
SETTINGS = {"log.cleaner.backoff.ms": "500"}
IDLE_SECONDS = 10.0
PROBE_SECONDS = 2.0
TIMEOUT_S = 1800.0


def fill(bootstrap: str, records: int, keys: int) -> None:
    """Small records under keys of 16 bytes, chosen at random and the same for every server."""
    chance = random.Random(1)
    value = bytes(range(32, 32 + VALUE_BYTES))
    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "1", "linger.ms": 20, "queue.buffering.max.kbytes": 262144}
    )
    for _ in range(records):
        key = b"%016d" % chance.randrange(keys)
        while True:
            try:
                producer.produce(TOPIC, value, key, 0)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(TIMEOUT_S):
        raise GeneratorFailed("records were left behind in the producer's queue")


def is_clean(data: Path) -> bool:
    """Whether the checkpoint has reached the active segment."""
    path = data / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    clean_to = next((int(line.split()[2]) for line in lines if line.startswith(f"{TOPIC} 0 ")), 0)
    return clean_to == max(int(segment.stem) for segment in (data / f"{TOPIC}-0").glob("*.log"))


class Watch:
    """Looks at a server until it has cleaned its topic: when that is, and how much memory it takes at most."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self.seconds = 0.0
        self.peak_megabytes = 0.0
        self._thread = threading.Thread(target=self._look)
        self._began_s = time.monotonic()
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def _look(self) -> None:
        while time.monotonic() - self._began_s < TIMEOUT_S:
            try:
                self.peak_megabytes = max(self.peak_megabytes, resident_megabytes(self._bed.server.pid))
            except (FileNotFoundError, LookupError):
                # A child ended while it was looked at.
                continue
            if is_clean(self._bed.server.data):
                self.seconds = time.monotonic() - self._began_s
                return
            time.sleep(0.1)


class CompactionRow(Row):
    is_alone = True
    warm_ups = 0
    # Clients of other topics may feel it, yet not much.
    at_most = MappingProxyType({"slowdown": 2.0})

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        records, keys = scaled(RECORDS, scale, 100_000), scaled(KEYS, scale, 10_000)
        segment_bytes = scaled(SEGMENT_BYTES, scale, SEGMENT_BYTES_MIN)

        def measure() -> Measured:
            server = beds.new_server(kind, SETTINGS)
            server.start()
            bed = Bed(server)
            # Nothing is ever dirty enough, until it is time.
            configs = {
                "cleanup.policy": "compact",
                "min.cleanable.dirty.ratio": "1",
                "segment.bytes": str(segment_bytes),
            }
            bed.create_topic(TOPIC, 1, configs)
            bed.create_topic("other", 1, {})
            fill(server.bootstrap, records, keys)
            settle()
            idle = run_probe(bed, "other", max(IDLE_SECONDS * scale, 2.0))["produce"]
            bed.set_topic_config(TOPIC, "min.cleanable.dirty.ratio", "0.01")
            watch = Watch(bed)
            busy: list[float] = []
            while not watch.is_over:
                busy += run_probe(bed, "other", PROBE_SECONDS)["produce"]
            bed.close()
            server.kill()
            shutil.rmtree(server.home)
            if not watch.seconds:
                raise GeneratorFailed(f"{kind} did not clean its topic within {TIMEOUT_S:g} s")
            idle_p99_ms, p99_ms = percentiles(idle).p99_ms, percentiles(sorted(busy)).p99_ms
            return Measured(
                {
                    "clean_s": watch.seconds,
                    "peak_mb": watch.peak_megabytes,
                    "idle_p99_ms": idle_p99_ms,
                    "p99_ms": p99_ms,
                    "slowdown": p99_ms / idle_p99_ms,
                }
            )

        yield measure


def rows() -> list[Row]:
    return [
        CompactionRow(
            "compaction",
            "compaction of 10 million records",
            "one partition of 1,000,000 keys of 16 bytes with values of 60 bytes; from the setting that makes it due "
            "to the checkpoint; 200 Produce requests a second to another topic, before and meanwhile",
            # Memory is bounded by the offset map, log.cleaner.dedupe.buffer.size, which is the same for both.
            {"clean_s": 1.0, "peak_mb": 1.0},
        )
    ]
