"""The cleaner of a running node: its process, its settings, and what happens when either of them ends."""

import os
import signal
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from harness.clients.confluent import ConfluentKafka
from harness.servers import Server
from harness.waiting import eventually

TOPIC = "table"
KEYS = 50
RATE = "log.cleaner.io.max.bytes.per.second"
SETTINGS = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01"}
# A megabyte, which is the smallest segment, is read once in a quarter of an hour.
SLOWLY = SETTINGS | {RATE: "1000"}


def fill(server: Server, topic: str = TOPIC) -> None:
    """A closed segment with many values of each key, and an active one."""
    producer = Producer({"bootstrap.servers": server.bootstrap, "acks": "all", "linger.ms": 20})
    for number in range(3000):
        producer.produce(topic, b"%08d" % number * 50, b"key %d" % (number % KEYS), partition=0)
    producer.flush(60)


def create(server: Server, topic: str = TOPIC) -> None:
    ConfluentKafka(server.bootstrap).create_topic(topic, 1, {"cleanup.policy": "compact", "segment.bytes": "1048576"})


def workers(server: Server) -> list[int]:
    """The cleaner processes of a node."""
    children: list[int] = []
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        children += [int(child) for child in (task / "children").read_text().split()]
    return [pid for pid in children if b"ottla.storage.cleaning.worker" in command_of(pid)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def clean_to(server: Server, topic: str = TOPIC) -> int:
    """Up to where the checkpoint says that a topic is clean."""
    path = server.data / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), 0)


def active_base(server: Server, topic: str = TOPIC) -> int:
    return max(int(path.stem) for path in server.partition_directory(topic, 0).glob("*.log"))


def set_rate(server: Server, rate: str) -> None:
    entry = ConfigEntry(RATE, rate, incremental_operation=AlterConfigOpType.SET)
    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    (node_id,) = admin.list_topics(timeout=30).brokers
    resource = ConfigResource(ResourceType.BROKER, str(node_id), incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_a_node_compacts_in_a_process_that_ends_when_there_is_nothing_left_to_do(start_server) -> None:
    server = start_server(SETTINGS)
    assert workers(server) == []
    create(server)
    fill(server)
    eventually(lambda: clean_to(server), lambda offset: offset == active_base(server) > 0)
    eventually(lambda: workers(server), lambda found: found == [])
    segment = min(server.partition_directory(TOPIC, 0).glob("*.log"))
    assert segment.stat().st_size < 60_000, "each key once"


def test_a_worker_that_is_killed_is_replaced_and_a_new_rate_lets_it_finish(start_server) -> None:
    server = start_server(SLOWLY)
    create(server)
    fill(server)
    (first,) = eventually(lambda: workers(server))
    os.kill(first, signal.SIGKILL)
    eventually(lambda: [pid for pid in workers(server) if pid != first])
    assert clean_to(server) == 0
    set_rate(server, "1000000000")
    eventually(lambda: clean_to(server), lambda offset: offset == active_base(server) > 0)
    assert list(server.partition_directory(TOPIC, 0).glob("*.cleaned")) == []


def test_a_worker_does_not_outlive_its_node(start_server) -> None:
    server = start_server(SLOWLY)
    create(server)
    fill(server)
    (worker,) = eventually(lambda: workers(server))
    server.kill()
    eventually(lambda: command_of(worker), lambda command: command == b"")
    server.start()
    (worker,) = eventually(lambda: workers(server))
    assert server.stop() == 0, "the node does not wait for a pass that takes long"
    eventually(lambda: command_of(worker), lambda command: command == b"")
    server.start()
    set_rate(server, "1000000000")
    eventually(lambda: clean_to(server), lambda offset: offset == active_base(server) > 0)


def test_a_damaged_log_is_left_as_it_is_and_the_others_are_compacted(start_server) -> None:
    server = start_server(SLOWLY)
    for topic in (TOPIC, "sound"):
        create(server, topic)
        fill(server, topic)
    server.stop()
    segment = min(server.partition_directory(TOPIC, 0).glob("*.log"))
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    segment.write_bytes(damaged)
    server.start()
    set_rate(server, "1000000000")
    eventually(lambda: clean_to(server, "sound"), lambda offset: offset == active_base(server, "sound") > 0)
    eventually(lambda: f"{TOPIC}-0" in server.output_tail() and "cannot be compacted" in server.output_tail())
    assert segment.read_bytes() == damaged
    assert clean_to(server) == 0
