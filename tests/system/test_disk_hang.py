"""A disk that hangs, and not only in its syncs: the others are served, and who wants something of it is told in time.

When it answers again, everything that was acknowledged is there, and everything is served.
"""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka import Message as Delivered

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.control_client import ControlClient
from harness.hanging_disk import EVERYTHING, WRITES, HangingDisk, HangingDiskServer
from harness.process_memory import resident_bytes
from harness.running_node import batch_of
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.schema import Message

RECORDS = [Record(b"%d" % number) for number in range(10)]
VALUES = [record.value for record in RECORDS]
REQUEST_TIMEOUT_MS = 1000
MEBIBYTE = 1024 * 1024


class TwoDisks:
    """A node with a topic and a group on each of its disks."""

    def __init__(self, server: HangingDiskServer) -> None:
        self.server = server
        self.client = ConfluentKafka(server.bootstrap)
        names = [f"topic-{number}" for number in range(4)]
        for name in names:
            self.client.create_topic(name, 1, {})
        eventually(self.client.topics, lambda topics: set(names) <= set(topics))
        for name in names:
            self.client.produce(name, RECORDS)
        self.hung = next(name for name in names if server.is_on_hanging_disk(name))
        self.safe = next(name for name in names if not server.is_on_hanging_disk(name))
        # The first group brings the offsets topic.
        self.client.consume(self.safe, "first", len(RECORDS))
        self.hung_group, self.safe_group = server.group_on(hanging=True), server.group_on(hanging=False)

    def produce(self, topic: str, value: bytes = b"more", **settings: str | int) -> KafkaError | None:
        """One record, sent once; what the broker said against it."""
        producer = self.producer(retries=0, **settings)
        outcome: list[KafkaError | None] = []
        producer.produce(topic, value, on_delivery=lambda error, _message: outcome.append(error))
        assert producer.flush(30) == 0
        return outcome[0]

    def producer(self, **settings: str | int) -> Producer:
        timeouts = {"request.timeout.ms": REQUEST_TIMEOUT_MS, "message.timeout.ms": 120_000}
        return Producer({"bootstrap.servers": self.server.bootstrap, "log_level": 0} | timeouts | settings)

    def values(self, topic: str) -> list[bytes | None]:
        end = self.client.end_offset(topic, 0)
        return [one.record.value for one in self.client.read(topic, 0, 0, end)]

    def commit(self, group: str, offset: int) -> ErrorCode:
        """What the coordinator says to a commit, without anybody who tries again."""

        async def commit() -> int:
            wire = await WireClient.connect(self.server.port)
            row = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
            topics = [OffsetCommitRequestTopic(name=self.safe, partitions=[row])]
            try:
                answer = await wire.call(OffsetCommitRequest(group_id=group, topics=topics), 9)
            finally:
                await wire.close()
            code: int = answer.topics[0].partitions[0].error_code
            return code

        return ErrorCode(asyncio.run(commit()))


@pytest.fixture
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoDisks]:
    home = tmp_path_factory.mktemp("server")
    disk = HangingDisk(home)
    with disk.mounted():
        server = HangingDiskServer(home, disk)
        server.start()
        try:
            yield TwoDisks(server)
        finally:
            disk.wake_up()
            server.close()


@pytest.mark.parametrize("what", [WRITES, EVERYTHING])
def test_the_other_disk_is_served_while_one_hangs(disks: TwoDisks, what: str) -> None:
    assert disks.commit(disks.safe_group, 1) is ErrorCode.NONE
    assert disks.commit(disks.hung_group, 1) is ErrorCode.NONE
    with disks.server.disk.hanging(what), ControlClient(disks.server.bootstrap, disks.safe) as control:
        for acks in ("all", "1"):
            error = disks.produce(disks.hung, acks=acks)
            assert error is not None
            assert error.code() == KafkaError.REQUEST_TIMED_OUT
        assert disks.commit(disks.hung_group, 2) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        control.wait_for_round_trips(10)
        for offset in range(2, 10):
            assert disks.commit(disks.safe_group, offset) is ErrorCode.NONE
        assert disks.client.committed(disks.safe_group, disks.safe, 0) == 9
        # What is decided and not yet written is told to nobody.
        assert disks.client.committed(disks.hung_group, disks.safe, 0) == 1
    eventually(lambda: disks.produce(disks.hung), lambda error: error is None)
    assert disks.commit(disks.hung_group, 3) is ErrorCode.NONE
    assert disks.client.committed(disks.hung_group, disks.safe, 0) == 3
    # A timeout told nothing about the outcome: these were appended when the disk woke up.
    assert disks.values(disks.hung)[: len(VALUES) + 2] == [*VALUES, b"more", b"more"]
    assert disks.produce(disks.safe) is None
    assert "Traceback" not in disks.server.output.read_text()


def test_what_an_idempotent_producer_sends_during_a_hang_is_there_once_and_in_order(disks: TwoDisks) -> None:
    acknowledged: list[bytes | None] = []

    def on_delivery(error: KafkaError | None, message: Delivered) -> None:
        assert error is None
        acknowledged.append(message.value())

    producer = disks.producer(**{"enable.idempotence": "true", "batch.num.messages": 3, "retry.backoff.ms": 10})
    sent = [b"more-%d" % number for number in range(60)]
    for value in sent[:20]:
        producer.produce(disks.hung, value, on_delivery=on_delivery)
    assert producer.flush(30) == 0
    with disks.server.disk.hanging(WRITES):
        for value in sent[20:]:
            producer.produce(disks.hung, value, on_delivery=on_delivery)
        for _ in range(2):
            error = disks.produce(disks.hung, b"another producer's")
            assert error is not None
        assert len(acknowledged) == 20
    assert producer.flush(60) == 0
    assert acknowledged == sent
    found = [value for value in disks.values(disks.hung) if value != b"another producer's"]
    assert found == [*VALUES, *sent]


def test_a_consumer_of_both_disks_gets_the_records_of_the_one_that_answers(disks: TwoDisks) -> None:
    settings = {"bootstrap.servers": disks.server.bootstrap, "group.id": "both", "enable.auto.commit": False}
    consumer = Consumer(settings | {"log_level": 0})
    try:
        with disks.server.disk.hanging(EVERYTHING):
            end = len(RECORDS)
            consumer.assign([TopicPartition(disks.hung, 0, 0), TopicPartition(disks.safe, 0, end)])
            for number in range(5):
                assert disks.produce(disks.safe, b"fresh-%d" % number) is None
            assert _take(consumer, disks.safe, 5) == [b"fresh-%d" % number for number in range(5)]
        assert _take(consumer, disks.hung, end) == VALUES
    finally:
        consumer.close()


def _take(consumer: Consumer, topic: str, count: int) -> list[bytes | None]:
    taken: list[bytes | None] = []

    def more() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            assert message.topic() == topic
            taken.append(message.value())
        return len(taken) == count

    eventually(more, timeout_s=60)
    return taken


def test_whatever_is_asked_about_a_disk_that_hangs_is_answered(disks: TwoDisks) -> None:
    hung = disks.hung
    place = ListOffsetsPartition(partition_index=0, timestamp=1)
    deletion = DeleteRecordsPartition(partition_index=0, offset=1)
    epoch = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    requests: dict[ErrorCode, list[Message]] = {
        ErrorCode.REQUEST_TIMED_OUT: [
            DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=hung, partitions=[deletion])], timeout_ms=REQUEST_TIMEOUT_MS
            ),
            ListOffsetsRequest(topics=[ListOffsetsTopic(name=hung, partitions=[place])]),
        ],
        ErrorCode.NONE: [
            DescribeProducersRequest(topics=[TopicRequest(name=hung, partition_indexes=[0])]),
            OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=hung, partitions=[epoch])]),
        ],
    }

    async def ask() -> None:
        wire = await WireClient.connect(disks.server.port)
        try:
            for code, some in requests.items():
                for request in some:
                    answer = await wire.call(request)
                    assert answer.topics[0].partitions[0].error_code == code, request
            sizes = {one.log_dir: one.usable_bytes for one in (await wire.call(DescribeLogDirsRequest())).results}
            assert sizes[str(disks.server.disk.mount)] == -1
            assert sizes[str(disks.server.sound)] > 0
        finally:
            await wire.close()

    with disks.server.disk.hanging(EVERYTHING):
        error = disks.produce(hung, acks="0")
        assert error is None, "who wants no answer gets none"
        asyncio.run(ask())
        assert disks.produce(disks.safe) is None
    assert "Traceback" not in disks.server.output.read_text()


def test_topics_can_be_made_changed_and_deleted_while_a_disk_hangs(disks: TwoDisks) -> None:
    made: list[str] = []

    def made_and_served() -> bool:
        made.append(f"new-{len(made)}")
        disks.client.create_topic(made[-1], 1, {})
        return disks.produce(made[-1]) is None

    with disks.server.disk.hanging(EVERYTHING):
        error = disks.produce(disks.hung)
        assert error is not None
        # The first may be meant for the disk of which nobody knows yet that it does not answer.
        for _ in range(3):
            eventually(made_and_served)
        disks.client.set_topic_config(disks.hung, "retention.ms", "1000000")
        disks.client.delete_topic(disks.hung)
        eventually(disks.client.topics, lambda topics: disks.hung not in topics)
        eventually(made_and_served)
    for name in made:
        eventually(lambda: disks.produce(name), lambda error: error is None)  # noqa: B023 - called within the turn
    eventually(lambda: disks.server.is_on_hanging_disk(disks.hung), lambda is_there: not is_there)
    assert "Traceback" not in disks.server.output.read_text()


def test_memory_stays_bounded_however_often_clients_try_again_while_a_disk_hangs(disks: TwoDisks) -> None:
    batch = batch_of(bytes(4 * MEBIBYTE))
    row = PartitionProduceData(index=0, records=batch)
    data = [TopicProduceData(name=disks.hung, partition_data=[row])]
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=data)
    clients, rounds = 8, 12

    async def try_again_and_again() -> int:
        async def give_up(wire: WireClient) -> None:
            answer = await wire.call(request, 12)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT

        wires = [await WireClient.connect(disks.server.port) for _ in range(clients)]
        for _ in range(rounds):
            await asyncio.gather(*map(give_up, wires))
        kept = resident_bytes(disks.server.pid)
        for wire in wires:
            await wire.close()
        return kept

    disks.client.set_topic_config(disks.hung, "max.message.bytes", str(8 * MEBIBYTE))
    before = resident_bytes(disks.server.pid)
    with disks.server.disk.hanging(WRITES):
        grown = asyncio.run(try_again_and_again()) - before
    in_queue, in_requests, kept_by_allocator = 64 * MEBIBYTE + len(batch), clients * len(batch), 64 * MEBIBYTE
    assert clients * rounds * len(batch) > 1.5 * (in_queue + in_requests + kept_by_allocator)
    assert grown < in_queue + in_requests + kept_by_allocator
    eventually(lambda: disks.produce(disks.hung), lambda error: error is None)
    assert "Traceback" not in disks.server.output.read_text()


def test_a_node_stops_although_a_disk_hangs_and_finds_everything_after_the_restart(disks: TwoDisks) -> None:
    server = disks.server
    with server.disk.hanging(WRITES):
        error = disks.produce(disks.hung)
        assert error is not None
        server.terminate()
        marker = ".kafka_cleanshutdown"
        eventually((server.sound / marker).exists)
        eventually(lambda: "Stopped" in server.output.read_text())
        assert not (server.disk.backing / marker).exists()
    # Only now: the kernel lets nobody go who waits for a disk.
    assert server.wait() == 1
    assert f"Log directory {server.disk.mount} does not answer" in server.output.read_text()
    server.start()
    assert disks.values(disks.hung)[: len(VALUES)] == VALUES
    assert disks.values(disks.safe) == VALUES
    assert disks.produce(disks.hung) is None
    assert "Traceback" not in server.output.read_text()
