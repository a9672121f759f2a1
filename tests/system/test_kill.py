"""kill -9 under load: what was acknowledged is there, once, in order.

A producer with idempotence and acks=all writes numbered records to every partition while the server is killed and
started again. It never learns of a crash except through its own retries. Afterwards each partition must hold its
numbers 0, 1, 2 ... without a gap, a repetition or a swap, up to at least the last acknowledged one.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from harness.waiting import eventually

KILLS = int(os.environ.get("OTTLA_KILLS", "10"))
PARTITIONS = 3
ACKNOWLEDGED_BETWEEN_KILLS = 2_000

TOPIC = "survivors"

NUMBERED = [Record(b"%d" % number) for number in range(10)]


class Load:
    """Writes the next number to each partition in turn until it is stopped; counts what came back."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 500,
                # The broker is away on purpose.
                "log_level": 0,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)
        self.acknowledged: dict[int, list[int]] = defaultdict(list)
        self.failures: list[KafkaError] = []
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for partition in range(PARTITIONS):
                self._send(partition)
            self._producer.poll(0.001)
        self._producer.flush(120)

    def _send(self, partition: int) -> None:
        number = self.sent[partition]

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            if error is None:
                self.acknowledged[partition].append(number)
            else:
                self.failures.append(error)

        try:
            self._producer.produce(TOPIC, b"%d" % number, b"key", partition, on_delivery=on_delivery)
        except BufferError:
            # The queue is full while the server is away.
            self._producer.poll(0.1)
            return
        self.sent[partition] = number + 1

    def total(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@pytest.mark.timeout(60 + 30 * KILLS)
def test_acknowledged_records_survive_kill_9_once_and_in_order(start_server: Callable[..., Server]) -> None:
    server = start_server()
    client = ConfluentKafka(server.bootstrap)
    client.create_topic(TOPIC, PARTITIONS, {"segment.bytes": "1048576"})
    eventually(client.topics, lambda topics: topics.get(TOPIC) == PARTITIONS)

    load = Load(server.bootstrap)
    try:
        for kill in range(1, KILLS + 1):
            enough = load.total() + ACKNOWLEDGED_BETWEEN_KILLS
            eventually(load.total, lambda total, enough=enough: total >= enough, timeout_s=60)
            server.kill()
            killed_s = time.monotonic()
            server.start()
            # `make chaos` shows it: hundreds of kills take a while.
            print(f"kill {kill} of {KILLS}: {load.total()} acknowledged, back in {time.monotonic() - killed_s:.1f} s")
    finally:
        load.stop()

    assert load.failures == []
    for partition in range(PARTITIONS):
        count = load.sent[partition]
        assert load.acknowledged[partition] == list(range(count)), "acknowledgements came in order, for all"
        stored = client.read(TOPIC, partition, 0, count)
        assert [one.offset for one in stored] == list(range(count))
        assert [one.record.value for one in stored] == [b"%d" % number for number in range(count)]
        assert client.end_offset(TOPIC, partition) == count


@pytest.mark.timeout(120)
def test_topics_settings_and_committed_offsets_survive_kill_9(start_server: Callable[..., Server]) -> None:
    server = start_server()
    client = ConfluentKafka(server.bootstrap)
    client.create_topic("kept", 2, {"retention.ms": "7200000"})
    client.create_topic("dropped", 1, {})
    client.delete_topic("dropped")
    eventually(client.topics, lambda topics: topics.get("kept") == 2 and "dropped" not in topics)
    client.produce("kept", NUMBERED)
    client.consume("kept", "readers", 4)

    server.kill()
    server.start()

    after = ConfluentKafka(server.bootstrap)
    topics = after.topics()
    assert topics["kept"] == 2
    assert "dropped" not in topics
    assert after.topic_config("kept", "retention.ms") == "7200000"
    assert [one.record.value for one in after.consume("kept", "readers", 6)] == [b"%d" % n for n in range(4, 10)]


def test_a_clean_stop_ends_at_once_and_keeps_everything(start_server: Callable[..., Server]) -> None:
    server = start_server()
    ConfluentKafka(server.bootstrap).produce("kept", NUMBERED)
    # A JVM answers SIGTERM with 143 even when it ended well.
    assert server.stop() in {0, 143}
    server.start()
    stored = ConfluentKafka(server.bootstrap).read("kept", 0, 0, 10)
    assert [one.record.value for one in stored] == [b"%d" % n for n in range(10)]
