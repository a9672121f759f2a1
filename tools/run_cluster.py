"""`make run CLUSTER=3`: a cluster on this machine, and what becomes of writes when a leader is killed under them.

The nodes are started as `ottla cluster up` starts them, and stopped on Ctrl-C. A producer of confluent-kafka writes
numbered records with acks=all all the while, as fast as a steady rate wants. In the end every record of this run is
read back: each number must be there once, and each partition's in the order in which they were sent.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata  # type: ignore[attr-defined]

from ottla.cli.cluster.local import cluster_directory, node_processes
from ottla.client import ClientError, OffsetSpec, TopicPartition
from ottla.client.sync import Client

T = TypeVar("T")

TOPIC = "ledger"
PARTITIONS = 3
NODES_MIN = 3
RATE_PER_S = 1000
# How long records flow before the accident, and after each step.
CALM_S = 2.0
TIMEOUT_S = 120.0
POLL_S = 0.05
# The noise of librdkafka when a broker goes away is part of the show, and told here in fewer words.
QUIET = {"log_level": 0}


class Stopped(Exception):
    """The user has seen enough."""


class Failed(Exception):
    """Something did not work; the message says what."""


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stopped


def wait_until(look: Callable[[], T], accept: Callable[[T], object], what: str) -> T:
    """What `look` finds once it is accepted."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not accept(seen := look()):
        if time.monotonic() > deadline_s:
            raise Failed(f"{what} did not happen within {TIMEOUT_S:g} s; last seen: {seen}")
        time.sleep(POLL_S)
    return seen


class LocalCluster:
    """The nodes, by the commands that anybody would use."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def ottla(self, *words: str, shows: bool = False) -> None:
        output = None if shows else subprocess.DEVNULL
        command = [sys.executable, "-m", "ottla", "cluster", *words, "--data", str(self._data)]
        # In a session of its own, so that Ctrl-C does not end it halfway.
        done = subprocess.run(command, stdout=output, check=False, start_new_session=True)
        if done.returncode != 0:
            raise Failed(f"`ottla cluster {' '.join(words)}` ended with exit code {done.returncode}.")

    def start(self, nodes: int, listen: str) -> str:
        """Makes the cluster if it is new; the bootstrap servers."""
        is_new = not cluster_directory.exists(self._data)
        self.ottla("up", *(("-n", str(nodes)) if is_new else ()), "--listen", listen, shows=True)
        _, layouts = cluster_directory.read(self._data)
        return ",".join(node.client_address for node in layouts)

    def running(self) -> str | None:
        """The nodes that run already, and where; None if there are none."""
        if not cluster_directory.exists(self._data):
            return None
        _, layouts = cluster_directory.read(self._data)
        pids = node_processes.running_nodes(layouts)
        named = [f"node {one.node_id} at {one.client_address}" for one in layouts if one.node_id in pids]
        return ", ".join(named) or None

    def stop(self) -> None:
        if cluster_directory.exists(self._data):
            with suppress(Failed):
                self.ottla("down")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A record that the cluster has taken."""

    number: int
    partition: int
    at_s: float


class Writer(threading.Thread):
    """Writes numbers at a steady rate, to all partitions in turn, and keeps what was acknowledged and when."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(name="writer", daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, **QUIET})
        self._ends = threading.Event()
        self.sent = 0
        self.acknowledged: list[Acknowledgement] = []
        self.failures: list[str] = []

    def run(self) -> None:
        began_s = time.monotonic()
        while not self._ends.is_set():
            while self.sent < (time.monotonic() - began_s) * RATE_PER_S:
                self._send(self.sent)
                self.sent += 1
            self._producer.poll(0.01)
        self._producer.flush(TIMEOUT_S)

    def end(self) -> None:
        """Sends no more, and returns when everything is acknowledged or given up."""
        self._ends.set()
        self.join()

    def _send(self, number: int) -> None:
        def done(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(f"{number}: {error}")
            else:
                self.acknowledged.append(Acknowledgement(number, message.partition() or 0, time.monotonic()))

        while True:
            try:
                self._producer.produce(TOPIC, str(number), partition=number % PARTITIONS, on_delivery=done)
                return
            except BufferError:
                self._producer.poll(0.1)


def longest_pause_s(acknowledged: Sequence[Acknowledgement], partition: int, since_s: float) -> float:
    """The longest time in which nothing was acknowledged in a partition."""
    moments = [one.at_s for one in acknowledged if one.partition == partition and one.at_s >= since_s - CALM_S]
    return max((after - before for before, after in pairwise(moments)), default=0.0)


def describe(admin: AdminClient) -> dict[int, PartitionMetadata]:
    """The partitions of the topic, as some broker sees them; none while nobody answers."""
    with suppress(KafkaException):
        return dict(admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions)
    return {}


def create_topic(admin: AdminClient) -> None:
    with suppress(KafkaException):
        # It is there already if this is not the first run.
        admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result(TIMEOUT_S)
    wait_until(
        lambda: describe(admin),
        lambda found: len(found) == PARTITIONS and all(len(one.isrs) == len(one.replicas) for one in found.values()),
        f"A topic {TOPIC} with all replicas in sync",
    )


def end_offsets(client: Client) -> dict[TopicPartition, int]:
    found = client.admin.list_offsets({TopicPartition(TOPIC, one): OffsetSpec.LATEST for one in range(PARTITIONS)})
    return {partition: listed.offset for partition, listed in found.items()}


def read_back(client: Client, begins: Mapping[TopicPartition, int]) -> dict[int, list[int]]:
    """The numbers in each partition, in their order."""
    ends = end_offsets(client)
    found: dict[int, list[int]] = defaultdict(list)
    with client.consumer() as reader:
        reader.assign(begins)
        for partition, begin in begins.items():
            reader.seek(partition, begin)
        while any((reader.position(partition) or 0) < ends[partition] for partition in begins):
            for record in reader.poll(timeout_ms=TIMEOUT_S * 1000):
                found[record.partition].append(int(record.value or b""))
    return found


def judge(writer: Writer, found: dict[int, list[int]]) -> str:
    """What became of the records, in a line; Failed if anything is wrong with them."""
    counts = Counter(number for numbers in found.values() for number in numbers)
    missing = sum(1 for one in writer.acknowledged if one.number not in counts)
    doubled = sum(count - 1 for count in counts.values())
    disordered = sum(before > after for numbers in found.values() for before, after in pairwise(numbers))
    outcome = (
        f"{writer.sent:,} records sent, {len(writer.acknowledged):,} acknowledged, {sum(counts.values()):,} found: "
        f"{missing} missing, {doubled} doubled, {disordered} out of order"
    )
    if writer.failures:
        raise Failed(f"{outcome}; {len(writer.failures)} not written, the first of them {writer.failures[0]}")
    if missing or doubled or disordered:
        raise Failed(outcome)
    return outcome


def show_accident(cluster: LocalCluster, bootstrap: str) -> None:
    """Kill a leader while records flow, start it again, and look whether anything is lost."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    create_topic(admin)
    with Client(bootstrap) as client:
        begins = end_offsets(client)
        print(f"\nNumbered records flow into topic {TOPIC}, {RATE_PER_S:,} a second, acks=all.", flush=True)
        writer = Writer(bootstrap)
        writer.start()
        try:
            kill_and_restart_a_leader(cluster, admin, writer)
        finally:
            writer.end()
        print(f"  {judge(writer, read_back(client, begins))}.", flush=True)


def kill_and_restart_a_leader(cluster: LocalCluster, admin: AdminClient, writer: Writer) -> None:
    let_flow(writer, time.monotonic())
    victim = describe(admin)[0].leader
    print(f"  {len(writer.acknowledged):,} are acknowledged.")
    print(f"  kill -9 of node {victim}, the leader of partition 0.", flush=True)
    killed_s = time.monotonic()
    cluster.ottla("kill", str(victim))
    heir = wait_until(lambda: describe(admin), lambda seen: seen and seen[0].leader not in (victim, -1), "An election")
    let_flow(writer, killed_s)
    pause_s = longest_pause_s(writer.acknowledged, 0, killed_s)
    print(f"  Node {heir[0].leader} leads it now. Writes stood still for {pause_s:.2f} s.")
    print(f"  Node {victim} starts again.", flush=True)
    returned_s = time.monotonic()
    cluster.ottla("up")
    wait_until(
        lambda: describe(admin),
        lambda seen: seen and all(victim in one.isrs for one in seen.values()),
        f"Node {victim} in sync",
    )
    print(f"  After {time.monotonic() - returned_s:.1f} s it has caught up and is in sync.", flush=True)
    let_flow(writer, time.monotonic())


def let_flow(writer: Writer, since_s: float) -> None:
    """Wait until every partition has taken records for a while."""
    wanted = CALM_S * RATE_PER_S / PARTITIONS

    def taken() -> Counter[int]:
        return Counter(one.partition for one in list(writer.acknowledged) if one.at_s > since_s)

    wait_until(taken, lambda counts: all(counts[number] >= wanted for number in range(PARTITIONS)), "Writing")


def run(nodes: int, listen: str, data: Path) -> int:
    if nodes < NODES_MIN:
        print(f"CLUSTER={nodes}: it takes at least {NODES_MIN} nodes to lose one and go on.", file=sys.stderr)
        return 2
    cluster = LocalCluster(data)
    # It is somebody else's: this run would kill a leader of theirs, and stop all of it in the end.
    if (others := cluster.running()) is not None:
        print(
            f"The cluster in {data} is running already: {others}.\n"
            f"End the `make run` that started it with Ctrl-C, or stop it with `ottla cluster down --data {data}`. "
            "To run another one beside it, give it other ports and data: LISTEN=HOST:PORT DATA=DIRECTORY.",
            file=sys.stderr,
        )
        return 1
    try:
        bootstrap = cluster.start(nodes, listen)
        show_accident(cluster, bootstrap)
        print(f"\nThe cluster stays up until Ctrl-C; the next `make run CLUSTER={nodes}` finds its data again.")
        print(f"Look around: ottla -b {bootstrap} topics health", flush=True)
        while True:
            signal.pause()
    except Stopped:
        return 0
    except (Failed, ClientError, KafkaException) as failure:
        print(f"{failure}\nThe logs of the nodes are {data}/node-*/node.log.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read this has gone, and does not want to hear of it when the interpreter ends either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        with suppress(BrokenPipeError):
            print("\nStopping ...", flush=True)
        cluster.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a cluster, kill a leader, and show that nothing is lost.")
    parser.add_argument("--nodes", type=int, default=NODES_MIN)
    parser.add_argument("--listen", default="127.0.0.1:9092")
    parser.add_argument("--data", type=Path, default=Path("data") / "cluster")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return run(options.nodes, options.listen, options.data)


if __name__ == "__main__":
    sys.exit(main())
