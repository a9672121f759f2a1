"""A full disk: writes are refused with the right code, reads go on, and all is well again when there is space.

Nothing is restarted for it. Apache Kafka takes the directory offline, and with its only one the broker stops.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import OttlaServer
from harness.small_disk import SmallDisk, small_disk
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = [pytest.mark.root, pytest.mark.timeout(180)]

MEGABYTE = 1024 * 1024
TOPIC, GROUP = "growing", "readers"


class FullDiskNode:
    """A node on a small disk, and what it acknowledged."""

    def __init__(self, server: OttlaServer, disk: SmallDisk) -> None:
        self.server = server
        self.disk = disk
        self.acknowledged: list[bytes] = []
        self.topics: list[str] = []
        self.committed = 0

    def client(self) -> ConfluentKafka:
        return ConfluentKafka(self.server.bootstrap)

    def produce(self, value: bytes) -> KafkaError | None:
        """One record; what the broker said against it."""
        outcome: list[KafkaError | None] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            outcome.append(error)

        producer = Producer({"bootstrap.servers": self.server.bootstrap, "retries": 0, "acks": "all"})
        producer.produce(TOPIC, value, on_delivery=on_delivery)
        assert producer.flush(30) == 0
        if outcome[0] is None:
            self.acknowledged.append(value)
        return outcome[0]

    def fill(self) -> KafkaError:
        """Produces until the disk is full; the error that says so."""
        number = 0
        sizes = [200_000, 20_000, 2_000, 200]
        while True:
            number += 1
            error = self.produce(b"%08d" % number + b"x" * sizes[0])
            if error is not None:
                sizes = sizes[1:]
                if not sizes:
                    return error

    def ask(self, call: Callable[[WireClient], Coroutine[Any, Any, Any]]) -> Any:
        async def connected() -> Any:
            wire = await WireClient.connect(self.server.port)
            try:
                return await call(wire)
            finally:
                await wire.close()

        return asyncio.run(connected())

    def create_topic(self) -> ErrorCode:
        name = f"topic-{len(self.topics)}"
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=10_000
        )
        response = self.ask(lambda wire: wire.call(request))
        self.topics.append(name)
        return ErrorCode(response.topics[0].error_code)

    def commit(self) -> ErrorCode:
        offset = self.committed + 1
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata="m" * 500
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
        )
        response = self.ask(lambda wire: wire.call(request, 9))
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self.committed = offset
        return code

    def until_refused(self, attempt: Callable[[], ErrorCode]) -> ErrorCode:
        """Small writes may still fit into what is left of a page."""
        for _ in range(200):
            code = attempt()
            if code is not ErrorCode.NONE:
                return code
        raise AssertionError("everything is accepted on a full disk")

    def stored(self) -> list[bytes | None]:
        return [one.record.value for one in self.client().read(TOPIC, 0, 0, len(self.acknowledged))]


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDiskNode]:
    home = tmp_path_factory.mktemp("server")
    with small_disk(home / "disk", 12 * MEGABYTE, ballast_bytes=8 * MEGABYTE) as disk:
        server = OttlaServer(home, {"num.partitions": "1", "offsets.topic.num.partitions": "1"})
        server.data = disk.path / "data"
        server.start()
        try:
            yield FullDiskNode(server, disk)
        finally:
            server.close()


def test_a_full_disk_refuses_writes_serves_reads_and_recovers_without_a_restart(node: FullDiskNode) -> None:
    assert node.produce(b"first") is None
    node.client().consume(TOPIC, GROUP, 1)
    assert node.commit() is ErrorCode.NONE
    assert node.create_topic() is ErrorCode.NONE

    assert node.fill().code() == KafkaError.KAFKA_STORAGE_ERROR
    assert node.stored() == node.acknowledged
    assert node.until_refused(node.commit) is ErrorCode.NOT_COORDINATOR
    assert node.until_refused(node.create_topic) is ErrorCode.KAFKA_STORAGE_ERROR
    assert node.produce(b"x" * 10_000) is not None
    assert node.stored() == node.acknowledged

    node.disk.give_space()
    eventually(lambda: node.produce(b"there is space") is None)
    eventually(lambda: node.commit() is ErrorCode.NONE)
    eventually(lambda: node.create_topic() is ErrorCode.NONE)
    for name in {topic for topic in node.client().topics() if topic.startswith("topic-")}:
        # Also those that were decided while there was no space for their files.
        node.client().produce(name, [Record(b"made at last")])
    assert node.stored() == node.acknowledged
    assert "Traceback" not in node.server.output.read_text()

    node.server.kill()
    node.server.start()
    assert node.stored() == node.acknowledged
    assert node.client().end_offset(TOPIC, 0) == len(node.acknowledged)


def test_a_node_stops_on_a_full_disk_and_starts_when_there_is_space(node: FullDiskNode) -> None:
    node.fill()
    node.until_refused(node.create_topic)
    assert node.server.stop() == 0
    node.disk.give_space()
    node.server.start()
    assert node.stored() == node.acknowledged


def test_a_node_that_starts_on_a_full_disk_says_so(node: FullDiskNode) -> None:
    node.fill()
    node.until_refused(node.create_topic)
    node.server.kill()
    with pytest.raises(AssertionError, match="No space left on device"):
        node.server.start()
    assert "Traceback" not in node.server.output.read_text()
    node.disk.give_space()
    node.server.start()
    assert node.stored() == node.acknowledged
