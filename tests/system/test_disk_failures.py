"""A disk that fails: its log directory goes offline, the others go on, and a restart brings it back.

A disk that hangs in its syncs keeps those waiting who asked for a sync, and nobody else.
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message, Producer

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.disk_faults import FSYNC_FAILS, FSYNC_HANGS, READ_ONLY, TwoDiskServer
from harness.waiting import eventually

RECORDS = [Record(b"%d" % number) for number in range(10)]


class TwoTopics:
    """A node with one topic on the disk that will fail and one on the other."""

    def __init__(self, server: TwoDiskServer) -> None:
        self.server = server
        client = self.client()
        names = [f"topic-{number}" for number in range(4)]
        for name in names:
            # An append is answered after a sync.
            client.create_topic(name, 1, {"flush.messages": "1"})
        eventually(client.topics, lambda topics: set(names) <= set(topics))
        for name in names:
            client.produce(name, RECORDS)
        self.doomed = next(name for name in names if server.is_on_failing_disk(name))
        self.safe = next(name for name in names if not server.is_on_failing_disk(name))

    def client(self) -> ConfluentKafka:
        return ConfluentKafka(self.server.bootstrap)

    def produce(self, topic: str, acks: str = "all") -> KafkaError | None:
        """One record; what the broker said against it."""
        outcome: list[KafkaError | None] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            outcome.append(error)

        settings = {
            "bootstrap.servers": self.server.bootstrap,
            "retries": 0,
            "acks": acks,
            "request.timeout.ms": 1000,
            # A partition whose only replica is offline has no leader to send to.
            "message.timeout.ms": 5000,
        }
        producer = Producer(settings)
        producer.produce(topic, b"more", on_delivery=on_delivery)
        assert producer.flush(30) == 0
        return outcome[0]

    def values(self, topic: str) -> list[bytes | None]:
        return [one.record.value for one in self.client().read(topic, 0, 0, len(RECORDS))]


@pytest.fixture
def topics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoTopics]:
    server = TwoDiskServer(tmp_path_factory.mktemp("server"))
    server.start()
    try:
        yield TwoTopics(server)
    finally:
        server.close()


@pytest.mark.parametrize("fault", [FSYNC_FAILS, READ_ONLY])
@pytest.mark.parametrize("acks", ["all", "1"])
def test_a_failed_disk_goes_offline_alone_until_a_restart(topics: TwoTopics, fault: str, acks: str) -> None:
    with topics.server.fault(fault):
        error = topics.produce(topics.doomed, acks)
        assert error is not None
        assert error.code() == KafkaError.KAFKA_STORAGE_ERROR
        assert topics.produce(topics.safe, acks) is None
    # A disk that failed once is not trusted again, although it works now.
    assert topics.produce(topics.doomed) is not None
    assert topics.produce(topics.safe) is None
    assert topics.values(topics.safe) == [record.value for record in RECORDS]
    assert f"log directory {topics.server.failing} is offline" in topics.server.output.read_text()
    assert "Traceback" not in topics.server.output.read_text()

    topics.server.stop()
    topics.server.start()
    assert topics.produce(topics.doomed) is None
    assert topics.values(topics.doomed) == [record.value for record in RECORDS]


def test_a_disk_that_hangs_in_its_syncs_keeps_only_those_waiting_who_asked_for_one(topics: TwoTopics) -> None:
    with topics.server.fault(FSYNC_HANGS):
        # More of them than there are threads for the disk.
        for _ in range(5):
            error = topics.produce(topics.doomed)
            assert error is not None
            assert error.code() == KafkaError.REQUEST_TIMED_OUT
        for _ in range(20):
            assert topics.produce(topics.safe) is None
        assert topics.values(topics.safe) == [record.value for record in RECORDS]
        assert topics.values(topics.doomed) == [record.value for record in RECORDS]
    assert topics.produce(topics.doomed) is None
    # What was answered with a timeout was appended all the same.
    assert topics.client().end_offset(topics.doomed, 0) == len(RECORDS) + 6
    assert "Traceback" not in topics.server.output.read_text()
