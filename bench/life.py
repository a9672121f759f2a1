"""Rows about a server's life: how soon it is there, how soon it is back, and how much memory it takes."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench import generators
from bench.process import peak_megabytes, resident_megabytes
from bench.row import Measure, Measured, Metrics, Row, scaled, shares
from bench.servers import Bed, Beds, drop_page_cache
from bench.throughput import BATCHED, fill
from bench.wire import wait_until_accepted
from harness.servers import Server

TOPIC = "life"
UP_TIMEOUT_S = 600.0
IDLE_S = 5.0


def create_topic(server: Server, partitions: int) -> None:
    bed = Bed(server)
    bed.create_topic(TOPIC, partitions, {})
    bed.close()


def time_until_accepted(server: Server, partitions: int) -> Metrics:
    """Starts a server that knows the topic; from the start of the process to accepted records."""
    started = time.monotonic()
    server.launch()
    wait_until_accepted(server.port, TOPIC, [0], UP_TIMEOUT_S)
    first_s = time.monotonic() - started
    if partitions == 1:
        return {"first_s": first_s}
    wait_until_accepted(server.port, TOPIC, range(partitions), UP_TIMEOUT_S)
    return {"first_s": first_s, "all_s": time.monotonic() - started}


class StartRow(Row):
    """A node with one topic and hardly any data."""

    is_alone = True

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:  # noqa: ARG002
        server = beds.new_server(kind, {})
        server.start()
        create_topic(server, 1)
        server.stop()

        def measure() -> Measured:
            try:
                return Measured(time_until_accepted(server, 1))
            finally:
                server.stop()

        yield measure


class RestartRow(Row):
    """A node with a lot of data, none of which is in memory, after one kind of end or the other."""

    is_alone = True
    warm_ups = 0

    def __init__(self, name: str, title: str, command: str, end: Callable[[Server], object]) -> None:
        super().__init__(name, title, command)
        self._end = end

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        partitions = scaled(1000, scale, 10)
        server = beds.new_server(kind, {})
        server.start()
        create_topic(server, partitions)
        generators.produce(server.bootstrap, TOPIC, scaled(10 * 1024 * 1024, scale, 1000), 1024, ("-a", "1", *BATCHED))
        self._end(server)

        def measure() -> Measured:
            drop_page_cache(server.data)
            try:
                return Measured(time_until_accepted(server, partitions))
            finally:
                self._end(server)

        yield measure
        shutil.rmtree(server.home)


class MemoryRow(Row):
    """Fresh from the start, and after producing and consuming a while."""

    is_alone = True
    warm_ups = 0

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        def measure() -> Measured:
            server = beds.new_server(kind, {})
            server.start()
            time.sleep(IDLE_S)
            idle = resident_megabytes(server.pid)
            bed = Bed(server)
            records = scaled(1_000_000, scale, 4000)
            with bed.topic(4) as topic:
                fill(bed, topic, records, 4)
                for _ in range(3):
                    generators.produce(bed.bootstrap, topic, records, 1024, ("-a", "1", *BATCHED))
                    generators.consume(bed.bootstrap, topic, shares(4, 4), records)
            bed.close()
            loaded, peak = resident_megabytes(server.pid), peak_megabytes(server.pid)
            server.kill()
            shutil.rmtree(server.home)
            return Measured({"idle_mb": idle, "loaded_mb": loaded, "peak_mb": peak})

        yield measure


def rows() -> list[Row]:
    restart = "10 GiB in 1,000 partitions, not in memory; from the start of the process to an accepted Produce request"
    return [
        StartRow(
            "start",
            "start of a node",
            "from the start of the process to an accepted Produce request",
            {"first_s": 4.0},
        ),
        RestartRow("restart-clean", "restart after SIGTERM", restart, Server.stop),
        RestartRow("restart-killed", "restart after kill -9", restart, Server.kill),
        MemoryRow(
            "memory",
            "resident memory",
            "after 5 s without load; after 4 GiB produced and 3 GiB consumed",
            {"idle_mb": 4.0, "loaded_mb": 4.0},
        ),
    ]
