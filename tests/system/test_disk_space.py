"""Space comes back when what was deleted has waited for file.delete.delay.ms, on a disk that is full as well."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import OttlaServer
from harness.small_disk import SmallDisk, small_disk
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = [pytest.mark.root, pytest.mark.timeout(180)]

MEGABYTE = 1024 * 1024
DISK_BYTES = 16 * MEGABYTE
DELAY_MS = 500
SETTINGS = {
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "log.segment.delete.delay.ms": str(DELAY_MS),
}


class SmallDiskNode:
    """A node of which one directory, or the only one, is on a small disk."""

    def __init__(self, server: OttlaServer, disk: SmallDisk) -> None:
        self.server = server
        self.disk = disk
        self.client = ConfluentKafka(server.bootstrap)

    def topic_on_disk(self) -> str:
        for number in range(4):
            name = f"topic-{number}"
            self.client.create_topic(name, 1, {"segment.bytes": str(MEGABYTE)})
            eventually(self.client.topics, lambda topics: name in topics)  # noqa: B023 - called within the turn
            if list(self.disk.path.rglob(f"{name}-0")):
                return name
        raise AssertionError("no topic came to the small disk")

    def fill(self, topic: str) -> None:
        errors: list[KafkaError | None] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            errors.append(error)

        producer = Producer({"bootstrap.servers": self.server.bootstrap, "retries": 0, "log_level": 0})
        for size in (500_000, 20_000, 1_000):
            while not errors or errors[-1] is None:
                producer.produce(topic, b"x" * size, on_delivery=on_delivery)
                assert producer.flush(30) == 0
            assert errors.pop().code() == KafkaError.KAFKA_STORAGE_ERROR
        # More of them, since each could leave something behind.
        for _ in range(20):
            producer.produce(topic, b"x" * 500_000, on_delivery=on_delivery)
        assert producer.flush(30) == 0

    def ask_for_what_needs_space(self, topic: str) -> None:
        async def ask() -> None:
            wire = await WireClient.connect(self.server.port)
            row = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="m" * 4000)
            topics = [OffsetCommitRequestTopic(name=topic, partitions=[row])]
            for number in range(10):
                await wire.call(OffsetCommitRequest(group_id="readers", topics=topics), 9)
                new = CreatableTopic(name=f"other-{number}", num_partitions=1, replication_factor=1)
                await wire.call(CreateTopicsRequest(topics=[new], timeout_ms=1000))
            await wire.close()

        asyncio.run(ask())

    def deleted_files(self) -> list[str]:
        """Those that the process has open although they are gone."""
        descriptors = Path(f"/proc/{self.server.pid}/fd")
        targets: list[str] = []
        for descriptor in descriptors.iterdir():
            try:
                targets.append(str(descriptor.readlink()))
            except FileNotFoundError:
                continue
        return [target for target in targets if target.endswith("(deleted)") and str(self.disk.path) in target]


directories = pytest.mark.parametrize("has_several", [False, True], ids=["the only directory", "one of two"])


@contextmanager
def running(
    tmp_path_factory: pytest.TempPathFactory, has_several: bool, settings: dict[str, str]
) -> Iterator[SmallDiskNode]:
    home = tmp_path_factory.mktemp("server")
    with small_disk(home / "disk", DISK_BYTES) as disk:
        several = {"log.dirs": f"{home / 'other'},{disk.path / 'data'}", "metadata.log.dir": str(home / "other")}
        server = OttlaServer(home, SETTINGS | settings | (several if has_several else {}))
        server.data = disk.path / "data"
        server.start()
        try:
            yield SmallDiskNode(server, disk)
            assert "Traceback" not in server.output.read_text()
        finally:
            server.close()


@directories
def test_a_deleted_topic_gives_its_space_back_on_a_full_disk(
    tmp_path_factory: pytest.TempPathFactory, has_several: bool
) -> None:
    # Old segments are not looked for meanwhile.
    with running(tmp_path_factory, has_several, {"log.initial.task.delay.ms": "600000"}) as node:
        topic = node.topic_on_disk()
        node.client.produce(topic, [Record(b"first")])
        node.client.consume(topic, "readers", 1)
        node.fill(topic)
        node.ask_for_what_needs_space(topic)
        assert node.disk.free_bytes() < MEGABYTE
        node.client.delete_topic(topic)
        eventually(node.disk.free_bytes, lambda free: free > DISK_BYTES - 2 * MEGABYTE)
        assert not list(node.disk.path.rglob("*-delete"))
        assert node.deleted_files() == []


@directories
def test_segments_that_retention_dropped_give_their_space_back(
    tmp_path_factory: pytest.TempPathFactory, has_several: bool
) -> None:
    with running(tmp_path_factory, has_several, {"log.retention.check.interval.ms": "1000"}) as node:
        topic = node.topic_on_disk()
        for _ in range(8):
            node.client.produce(topic, [Record(b"x" * 700_000)])
        # A consumer has them open.
        node.client.read(topic, 0, 0, 8)
        free = node.disk.free_bytes()
        node.client.delete_records(topic, 0, 7)
        eventually(node.disk.free_bytes, lambda now: now > free + 4 * MEGABYTE)
        assert not list(node.disk.path.rglob("*.deleted"))
        assert node.deleted_files() == []
