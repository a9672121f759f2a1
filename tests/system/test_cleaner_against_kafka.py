"""The same directory, compacted by Apache Kafka and by Ottla: the same records survive, at the same offsets."""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.clients.confluent import ConfluentKafka
from harness.servers import ApacheKafkaServer
from harness.waiting import eventually

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

TOPIC = "table"
# Markers carry the time of the server: what is to close a segment has to be later.
TIME_MS = int(time.time()) * 1000
HOUR_MS = 3_600_000
CONFIGS = {"cleanup.policy": "compact", "segment.ms": "1800000", "message.timestamp.after.max.ms": str(2**62)}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.0",
}


def write(bootstrap: str) -> None:
    """Keys over and over, tombstones, headers and codecs; transactions that commit and that do not."""
    for hour in range(4):
        time_ms = TIME_MS + hour * HOUR_MS
        for number, codec in enumerate(CODECS):
            producer = Producer(
                {"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True, "linger.ms": 50}
            )
            for key in range(10):
                value = None if (hour, key) in {(1, 3), (2, 4)} else b"%d %s" % (hour, codec.encode()) * 5
                headers = [("codec", codec.encode()), ("empty", None)]
                producer.produce(TOPIC, value, b"key %d" % (key + number), timestamp=time_ms, headers=headers)
            producer.flush(60)
        for is_commit in (True, False):
            producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"writer {is_commit}"})
            producer.init_transactions(60)
            producer.begin_transaction()
            for key in range(5):
                producer.produce(TOPIC, b"%d %d" % (hour, is_commit), b"shared %d" % key, timestamp=time_ms)
            producer.flush(60)
            (producer.commit_transaction if is_commit else producer.abort_transaction)(60)


def clean_to(data: Path) -> int:
    path = data / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{TOPIC} 0 ")), 0)


def active_base(data: Path) -> int:
    return max(int(path.stem) for path in (data / f"{TOPIC}-0").glob("*.log"))


def read(bootstrap: str, isolation: str) -> list[Any]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    rows: list[Any] = []
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return rows
        rows.append((message.offset(), message.key(), message.value(), message.headers(), message.timestamp()))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that Apache Kafka wrote and did not clean."""
    server = ApacheKafkaServer(tmp_path_factory.mktemp("written"), {**SETTINGS, "log.cleaner.enable": "false"})
    server.start()
    try:
        ConfluentKafka(server.bootstrap).create_topic(TOPIC, 1, CONFIGS)
        write(server.bootstrap)
    finally:
        server.close()
    return server.data


class OttlaOfProperties(ApacheKafkaServer):
    """A node that is started with the file of Apache Kafka."""

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "ottla.cli.main", "server", str(self.properties)]


def cleaned_by(kind: type[ApacheKafkaServer], written: Path, home: Path) -> dict[str, list[Any]]:
    """What each kind of reader finds after a server has cleaned a copy of the directory."""
    server = kind(home, SETTINGS)
    shutil.copytree(written, server.data)
    server.write_properties()
    server.start()
    try:
        eventually(lambda: clean_to(server.data), lambda offset: offset == active_base(server.data) > 0, timeout_s=60)
        return {isolation: read(server.bootstrap, isolation) for isolation in ("read_committed", "read_uncommitted")}
    finally:
        server.close()


def test_the_same_records_survive_in_both(written: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    ours = cleaned_by(OttlaOfProperties, written, tmp_path_factory.mktemp("ottla"))
    theirs = cleaned_by(ApacheKafkaServer, written, tmp_path_factory.mktemp("kafka"))
    assert ours == theirs
    keys = [key for _, key, *_ in ours["read_committed"]]
    # The last hour is in the active segment.
    assert len(keys) < 100
    assert {value for _, _, value, *_ in ours["read_committed"]} >= {None, b"3 1"}
