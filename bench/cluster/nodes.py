"""Three nodes of one kind, each broker and controller, as their users would run them."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Producer

from bench.cluster.view import View, accepting, view
from bench.process import cpu_seconds, resident_megabytes, shared_megabytes
from bench.servers import KAFKA_JVM, CpuTime, raise_error
from harness.cluster import ApacheNodeProcess, Cluster, NodeProcess
from harness.java import class_path, java
from harness.waiting import eventually
from ottla.client import NewTopic
from ottla.client.sync import Client

NODES = 3
WAIT_S = 120.0
FIRST_TOPIC = "first"
SETTINGS = {
    "num.partitions": "6",
    "default.replication.factor": str(NODES),
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": str(NODES),
    "transaction.state.log.replication.factor": str(NODES),
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": str(NODES),
    "share.coordinator.state.topic.min.isr": "2",
}
KINDS = ("kafka", "ottla")


class BenchApacheNode(ApacheNodeProcess):
    """A node in a cluster of its own kind: all features, and the JVM options of Kafka's start script."""

    def _format_command(self) -> list[str]:
        return java("kafka.tools.StorageTool", *self._format_options())

    def _command(self) -> list[str]:
        return ["java", *KAFKA_JVM.split(), "-cp", class_path(), "kafka.Kafka", str(self.properties)]


class BenchCluster(Cluster):
    apache_kind = BenchApacheNode


class Nodes:
    def __init__(self, home: Path, kind: str) -> None:
        shutil.rmtree(home, ignore_errors=True)
        self.kind = kind
        self._home = home
        apache_ids = range(1000) if kind == "kafka" else ()
        self._cluster = BenchCluster(home, brokers=NODES, settings=SETTINGS, apache_ids=apache_ids)
        self.brokers = self._cluster.brokers
        self.bootstrap = self._cluster.bootstrap
        self._numbers = itertools.count()
        # From the start of the processes to the first acknowledged record; known once they have started.
        self.first_acknowledged_s = 0.0
        self._client: Client | None = None

    def start(self) -> None:
        with ThreadPoolExecutor(NODES) as pool:
            list(pool.map(NodeProcess.format, self.brokers.values()))
        began_s = time.monotonic()
        for node in self.brokers.values():
            node.launch()
        write_first_record(self.bootstrap)
        self.first_acknowledged_s = time.monotonic() - began_s
        self._cluster.until_known(self.brokers.keys())

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._cluster.close()
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def client(self) -> Client:
        self._client = self._client or Client(self.bootstrap)
        return self._client

    # -- topics -------------------------------------------------------------------------------------------------------

    @contextmanager
    def topic(self, partitions: int) -> Iterator[str]:
        """A topic with a replica on every node, which goes when the block ends."""
        name = f"bench-{next(self._numbers)}"
        self.create_topic(name, partitions)
        yield name
        raise_error(self.client.admin.delete_topics([name])[name])

    def create_topic(self, name: str, partitions: int) -> None:
        """Returns when every node knows who leads, and all replicas are in sync."""
        wanted = NewTopic(name, partitions, NODES, configs={"file.delete.delay.ms": "1000"})
        raise_error(self.client.admin.create_topics([wanted], timeout_ms=120_000)[name].error)
        self.until_in_sync(name, partitions)

    def until_in_sync(self, topic: str, partitions: int) -> None:
        for broker in self.brokers:
            self.until(broker, topic, lambda seen: seen.is_whole(partitions, NODES))

    def until(self, broker: int, topic: str, accept: Callable[[View], object]) -> View:
        """What this node sees once it is accepted."""
        return eventually(lambda: self.view(broker, topic), accept, timeout_s=WAIT_S)

    def view(self, broker: int, topic: str) -> View:
        return view(self.brokers[broker].port, topic)

    def write_to_all(self, topic: str, partitions: int, witness: int) -> None:
        """Returns when every partition has taken a record with acks=all. One request to each leader, as the witness
        knows them: what is measured is the cluster, and not how a client goes about so many."""
        deadline_s = time.monotonic() + WAIT_S
        missing = set(range(partitions))
        while missing:
            by_leader: dict[int, list[int]] = {}
            for index, replicas in self.view(witness, topic).partitions.items():
                if index in missing:
                    by_leader.setdefault(replicas.leader, []).append(index)
            for leader in by_leader.keys() & self.brokers.keys():
                missing -= accepting(self.brokers[leader].port, topic, by_leader[leader])
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{len(missing)} of {partitions} partitions take no records after {WAIT_S:g} s")

    def others(self, broker: int) -> list[int]:
        return [other for other in self.brokers if other != broker]

    # -- who does what ------------------------------------------------------------------------------------------------

    def active_controller(self) -> int:
        return self.client.admin.describe_quorum().leader_id

    def bring_back(self, broker: int, topic: str, partitions: int) -> None:
        """Starts a node that has ended, waits until it is in sync, and gives it back what it led."""
        self.brokers[broker].start()
        self.settle(topic, partitions)

    def settle(self, topic: str, partitions: int) -> None:
        """Returns when every node is in sync and leads what it is meant to."""
        self._cluster.until_known(self.brokers.keys())
        self.until_in_sync(topic, partitions)
        self.client.admin.elect_leaders(None)

    # -- what they cost -----------------------------------------------------------------------------------------------

    @contextmanager
    def cpu(self) -> Iterator[CpuTime]:
        """CPU of the three nodes together while the block runs."""
        spent = CpuTime()
        before = sum(self.cpu_of_each())
        yield spent
        spent.seconds = sum(self.cpu_of_each()) - before

    def cpu_of_each(self) -> list[float]:
        return [cpu_seconds(node.pid) for node in self.brokers.values()]

    def memory(self) -> dict[str, float]:
        pids = [node.pid for node in self.brokers.values()]
        return {"rss_mb": sum(map(resident_megabytes, pids)), "pss_mb": sum(map(shared_megabytes, pids))}

    def log_bytes(self, broker: int, topic: str) -> int:
        """What a node has in its logs of a topic."""
        data = self.brokers[broker].data
        return sum(path.stat().st_size for path in data.glob(f"{topic}-*/*.log"))


def write_first_record(bootstrap: str) -> None:
    """A producer that is there before its cluster: returns when a record is acknowledged, in a topic that is created
    for it."""
    settings = {
        "bootstrap.servers": bootstrap,
        "reconnect.backoff.max.ms": 100,
        # It gives up a topic that does not come into being within 30 s otherwise.
        "topic.metadata.propagation.max.ms": int(WAIT_S * 1000),
        "log_level": 0,
    }
    producer = Producer(settings)
    failures: list[object] = []
    producer.produce(FIRST_TOPIC, b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
    left = producer.flush(WAIT_S)
    if left or failures:
        raise KafkaException(failures[0] if failures else "no record was acknowledged")
