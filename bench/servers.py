"""The servers as their users would run them, and a bed: a running server with what measurements need of it."""

import itertools
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.process import cpu_seconds
from harness.java import class_path
from harness.servers import ApacheKafkaServer, OttlaServer, Server
from harness.waiting import eventually
from ottla.client import ConfigChange, ConfigResource, KafkaError, NewTopic, ResourceType
from ottla.client.sync import Client

# The options of Kafka's own start script.
KAFKA_JVM = (
    "-server -Xms1G -Xmx1G -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true -Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
)
ADMIN_TIMEOUT_S = 120.0


class BenchKafkaServer(ApacheKafkaServer):
    def _command(self) -> list[str]:
        super()._command()
        return ["java", *KAFKA_JVM.split(), "-cp", class_path(), "kafka.Kafka", str(self.properties)]


class FloorServer(Server):
    def _command(self) -> list[str]:
        return [sys.executable, "-m", "bench.floor", "127.0.0.1", str(self.port), str(self.data)]


FLOOR = "floor"
KINDS: dict[str, type[Server]] = {"kafka": BenchKafkaServer, "ottla": OttlaServer, FLOOR: FloorServer}


@dataclass(slots=True)
class CpuTime:
    """CPU that the server used while a block ran; known after it."""

    seconds: float = 0.0

    def us_per(self, count: int) -> float:
        return self.seconds / count * 1e6


def raise_error(error: KafkaError | None) -> None:
    if error is not None:
        raise error


class Bed:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.bootstrap = server.bootstrap
        self._client = Client(server.bootstrap)
        self._numbers = itertools.count()

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def topic(self, partitions: int, configs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A topic that goes when the block ends."""
        name = f"bench-{next(self._numbers)}"
        self.create_topic(name, partitions, configs or {})
        yield name
        raise_error(self._client.admin.delete_topics([name])[name])

    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        wanted = NewTopic(name, partitions, 1, configs={"file.delete.delay.ms": "1000", **configs})
        raise_error(self._client.admin.create_topics([wanted])[name].error)
        eventually(lambda: self._leaders(name), lambda leaders: leaders == partitions, timeout_s=ADMIN_TIMEOUT_S)

    def _leaders(self, name: str) -> int:
        described = self._client.admin.describe_topics([name])[name]
        return sum(partition.leader_id >= 0 for partition in described.partitions)

    def set_topic_config(self, name: str, setting: str, value: str) -> None:
        topic = ConfigResource(ResourceType.TOPIC, name)
        raise_error(self._client.admin.alter_configs({topic: [ConfigChange(setting, value)]})[topic])

    def transactions_of(self, transactional_id: str) -> int:
        """How many a new id has had: under transaction.version 2 each takes an epoch."""
        return self._client.admin.describe_transactions([transactional_id])[transactional_id].producer_epoch

    @contextmanager
    def cpu(self) -> Iterator[CpuTime]:
        spent = CpuTime()
        before = cpu_seconds(self.server.pid)
        yield spent
        spent.seconds = cpu_seconds(self.server.pid) - before


def drop_page_cache(directory: Path) -> None:
    """Makes the data of a directory cold: written, and no longer in memory."""
    os.sync()
    for path in directory.rglob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


class Beds:
    """The servers that are up, by kind and settings; what they wrote goes with them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._up: dict[tuple[str, tuple[tuple[str, str], ...]], Bed] = {}
        self._numbers = itertools.count()

    def new_server(self, kind: str, settings: Mapping[str, str]) -> Server:
        """A server that is not started yet."""
        home = self._home / f"{kind}-{next(self._numbers)}"
        home.mkdir(parents=True)
        return KINDS[kind](home, {"num.partitions": "6", **settings})

    def get(self, kind: str, settings: Mapping[str, str]) -> Bed:
        key = (kind, tuple(sorted(settings.items())))
        if key not in self._up:
            server = self.new_server(kind, settings)
            server.start()
            self._up[key] = Bed(server)
        return self._up[key]

    def close(self) -> None:
        for bed in self._up.values():
            bed.close()
            bed.server.kill()
            shutil.rmtree(bed.server.home)
        self._up.clear()


def settle() -> None:
    """Everything dirty goes to the disk, and the other server comes to rest."""
    os.sync()
    time.sleep(1.0)
