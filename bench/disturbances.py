"""What a server may be busy with while others wait: reading cold data, deleting, snapshots, fsync.

Each disturbance prepares what it needs, then goes on in threads for as long as its block lasts.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from bench import generators
from bench.row import scaled
from bench.servers import Bed, drop_page_cache
from bench.throughput import BATCHED, fill
from bench.wire import Connection, one_record_batch
from harness.waiting import eventually

MEBIBYTE = 1024 * 1024
PRODUCER_IDS = 10_000
# Far from those that a server gives out itself.
FIRST_PRODUCER_ID = 1_000_000
METADATA_TOPICS = 20
PARTITIONS_PER_TOPIC = 100
BETWEEN_TOPICS_S = 0.2

# Work that is otherwise minutes apart is due every second.
SETTINGS = {
    "log.retention.check.interval.ms": "1000",
    "metadata.log.max.record.bytes.between.snapshots": "50000",
}


@contextmanager
def repeated(work: Callable[[], object]) -> Iterator[None]:
    """Does something over and over, until the block ends; its failure is the block's."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            while not ended.is_set():
                work()
        except Exception as failure:  # noqa: BLE001
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]


@contextmanager
def paced_producer(bed: Bed, topic: str, per_s: int) -> Iterator[None]:
    """1 KiB records at a fixed rate, until the block ends."""
    options = ("-a", "1", "-r", str(per_s), *BATCHED)
    command = generators.produce_command(bed.bootstrap, topic, 1_000_000_000, 1024, options)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        yield
        process.kill()


@contextmanager
def nothing(bed: Bed, scale: float) -> Iterator[None]:  # noqa: ARG001
    yield


@contextmanager
def cold_fetch(bed: Bed, scale: float) -> Iterator[None]:
    records = scaled(2_000_000, scale, 4000)
    with bed.topic(4) as topic:
        fill(bed, topic, records, 4)

        def read_all() -> None:
            drop_page_cache(bed.server.data)
            generators.consume(bed.bootstrap, topic, [range(4)], records)

        with repeated(read_all):
            yield


@contextmanager
def retention(bed: Bed, scale: float) -> Iterator[None]:
    """A topic of many small segments loses all but the last of them."""
    records = scaled(1_000_000, scale, 8000)
    with (
        bed.topic(1, {"segment.bytes": str(MEBIBYTE)}) as canary,
        bed.topic(4, {"segment.bytes": str(MEBIBYTE)}) as topic,
    ):
        # The first pass comes half a minute after the start.
        fill(bed, canary, 4000, 1)
        bed.set_topic_config(canary, "retention.bytes", "1")
        fill(bed, topic, records, 4)
        eventually(lambda: segments(bed, canary), lambda count: count == 1, timeout_s=90)
        before = segments(bed, topic)
        bed.set_topic_config(topic, "retention.bytes", "1")
        yield
        if segments(bed, topic) == before:
            raise generators.GeneratorFailed("no retention pass came while the probe ran")


def segments(bed: Bed, topic: str) -> int:
    return sum(1 for _ in bed.server.data.glob(f"{topic}-*/*.log"))


@contextmanager
def snapshots(bed: Bed, scale: float) -> Iterator[None]:
    """A partition that knows many producers rolls its log again and again, and topics come without end."""
    with ExitStack() as topics:
        for _ in range(scaled(METADATA_TOPICS, scale)):
            topics.enter_context(bed.topic(PARTITIONS_PER_TOPIC))
        topic = topics.enter_context(bed.topic(1, {"segment.bytes": str(MEBIBYTE)}))
        connection = Connection(bed.server.port)
        for producer_id in range(scaled(PRODUCER_IDS, scale, 100)):
            connection.produce(topic, [0], one_record_batch(producer_id=FIRST_PRODUCER_ID + producer_id))
        connection.close()

        def create_one() -> None:
            topics.enter_context(bed.topic(10))
            time.sleep(BETWEEN_TOPICS_S)

        with paced_producer(bed, topic, 4000), repeated(create_one):
            yield


@contextmanager
def fsync(bed: Bed, scale: float) -> Iterator[None]:  # noqa: ARG001
    """Every append to another topic is forced to the disk."""
    with bed.topic(4, {"flush.messages": "1"}) as topic, paced_producer(bed, topic, 40_000):
        yield
