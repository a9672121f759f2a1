"""One data directory, two servers: Apache Kafka opens what Ottla wrote, and Ottla what Apache Kafka wrote.

The same server.properties starts either of them, on the same port. All that clients can ask about is asked before a
change of server and after it: topics with their ids and settings, records of every codec as both isolation levels see
them, offsets by time, committed offsets of groups and what transactions may still change of them, and the producers
that each partition remembers. Then the other server writes on, ends a transaction that was left open, and the first one
gets its directory back.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, Record
from harness.servers import ApacheKafkaServer, Server
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

# Recent: both servers forget producers whose last record is a day old.
TIME_MS = int(time.time()) * 1000 - 3_600_000
RECORDS = [
    Record(b"value %d" % n if n % 4 else None, b"key %d" % (n % 3), (("h", b"%d" % n),), TIME_MS + n * 1000)
    for n in range(12)
]
GROUP = "readers"
LEFT_OPEN = "left open"
PLAIN, ENCODED, COMPACTED, TRANSACTIONAL, DELETED = "plain", "encoded", "compacted", "transactional", "deleted"


class OttlaOfProperties(Server):
    """A node that is started with another server's configuration."""

    def __init__(self, twin: ApacheKafkaServer) -> None:
        super().__init__(twin.home)
        self.port = twin.port
        self._properties = twin.properties

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "ottla.cli.main", "server", str(self._properties)]


class SharedDirectory:
    """A data directory and the servers that take turns on it."""

    def __init__(self, home: Path) -> None:
        settings = {
            "num.partitions": "1",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.num.partitions": "2",
        }
        self.kafka = ApacheKafkaServer(home, settings)
        self.kafka.write_properties()
        self.ottla = OttlaOfProperties(self.kafka)

    @contextmanager
    def run(self, name: str, *, end: str = "stop") -> Iterator[ConfluentKafka]:
        server: Server = self.kafka if name == "kafka" else self.ottla
        server.start()
        try:
            yield ConfluentKafka(server.bootstrap)
            if end == "kill":
                server.kill()
        finally:
            server.close()


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory) -> SharedDirectory:
    return SharedDirectory(tmp_path_factory.mktemp("shared"))


def fill(client: ConfluentKafka) -> None:
    client.create_topic(PLAIN, 3, {"segment.bytes": "1048576"})
    client.create_topic(ENCODED, 1, {"retention.ms": "-1", "max.message.bytes": "2000000"})
    client.create_topic(COMPACTED, 1, {"cleanup.policy": "compact"})
    client.create_topic(DELETED, 1, {})
    client.produce(DELETED, RECORDS)
    for partition in range(3):
        client.produce(PLAIN, RECORDS, partition=partition, idempotent=True)
    for codec in ALL_CODECS:
        client.produce(ENCODED, RECORDS, codec=codec)
    client.produce(COMPACTED, RECORDS)
    client.consume(ENCODED, GROUP, 7)
    client.delete_topic(DELETED)
    client.create_topic(TRANSACTIONAL, 1, {})
    write_transactions(client.bootstrap)


def write_transactions(bootstrap: str) -> None:
    """Two are committed, two aborted, one is left open; each moves the group in a partition."""
    for number, is_commit in enumerate([True, False, True, False]):
        producer = begin_transaction(bootstrap, f"writer-{number % 2}", number)
        (producer.commit_transaction if is_commit else producer.abort_transaction)(30)
    begin_transaction(bootstrap, LEFT_OPEN, 5)


def begin_transaction(bootstrap: str, transactional_id: str, number: int) -> Producer:
    producer = transactional_producer(bootstrap, transactional_id)
    producer.begin_transaction()
    for record in RECORDS[:3]:
        producer.produce(TRANSACTIONAL, b"%d" % number, record.key, timestamp=TIME_MS)
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    offsets = [TopicPartition(PLAIN, number % 3, 100 + number)]
    producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), 30)
    reader.close()
    producer.flush(30)
    return producer


def transactional_producer(bootstrap: str, transactional_id: str) -> Producer:
    """Aborts what the id left open."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            # Longer than both servers need to start, so that nobody else ends it.
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(30)
    return producer


GROUP_OFFSETS = [
    (ENCODED, 0, 7, "", "NONE"),
    (PLAIN, 0, 100, "", "NONE"),
    (PLAIN, 1, -1, "", "NONE"),
    (PLAIN, 2, 102, "", "NONE"),
]
STABLE_GROUP_OFFSETS = [*GROUP_OFFSETS[:3], (PLAIN, 2, -1, "", "UNSTABLE_OFFSET_COMMIT")]
GROUP_AFTERWARDS = [(ENCODED, 0, 10, "", "NONE"), *GROUP_OFFSETS[1:]]


def contents(client: ConfluentKafka) -> dict[str, Any]:
    """All that clients can ask about."""
    topics = {name: count for name, count in client.topics().items() if not name.startswith("__")}
    ends = {(name, p): client.end_offset(name, p) for name, count in topics.items() for p in range(count)}
    return {
        "topics": topics,
        "settings": {
            name: [client.topic_config(name, key) for key in ("segment.bytes", "retention.ms", "cleanup.policy")]
            for name in topics
        },
        "ends": ends,
        "uncommitted": read_all(client.bootstrap, ends, "read_uncommitted"),
        "committed": read_all(client.bootstrap, ends, "read_committed"),
        **asyncio.run(ask_by_wire(client.bootstrap, topics)),
    }


def read_all(bootstrap: str, ends: dict[tuple[str, int], int], isolation: str) -> dict[tuple[str, int], list[Any]]:
    found: dict[tuple[str, int], list[Any]] = {}
    for (topic, partition), end in ends.items():
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0)])
        rows = found[topic, partition] = []
        # The end of what it may read is told by an event of its own; the end offset stops at an open transaction.
        while True:
            message = consumer.poll(30)
            assert message is not None, f"{topic}-{partition} ends at {end}, {len(rows)} records were delivered"
            if message.error() is not None:
                break
            rows.append((message.offset(), message.key(), message.value(), message.headers(), message.timestamp()))
        consumer.close()
    return found


async def ask_by_wire(bootstrap: str, topics: dict[str, int]) -> dict[str, Any]:
    client = await WireClient.connect(int(bootstrap.rpartition(":")[2]))
    try:
        metadata = await client.call(MetadataRequest(topics=None))
        wanted = [TopicRequest(name=name, partition_indexes=list(range(count))) for name, count in topics.items()]
        described = await client.call(DescribeProducersRequest(topics=wanted))
        times = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[
                        ListOffsetsPartition(partition_index=p, timestamp=TIME_MS + 4500, current_leader_epoch=-1)
                        for p in range(count)
                    ],
                )
                for name, count in topics.items()
            ],
        )
        by_time = await client.call(times)
        group = OffsetFetchRequestGroup(
            group_id=GROUP,
            topics=[
                OffsetFetchRequestTopics(name=ENCODED, partition_indexes=[0]),
                OffsetFetchRequestTopics(name=PLAIN, partition_indexes=[0, 1, 2]),
            ],
        )
        offsets = [
            await client.call(OffsetFetchRequest(groups=[group], require_stable=stable), 9) for stable in (False, True)
        ]
    finally:
        await client.close()
    return {
        "ids": {topic.name: topic.topic_id for topic in metadata.topics},
        "producers": {
            (topic.name, row.partition_index): sorted(
                (
                    one.producer_id,
                    one.producer_epoch,
                    one.last_sequence,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                )
                for one in row.active_producers
            )
            for topic in described.topics
            for row in topic.partitions
        },
        "by time": {
            (topic.name, row.partition_index): (row.timestamp, row.offset)
            for topic in by_time.topics
            for row in topic.partitions
        },
        "group": [
            [
                (topic.name, row.partition_index, row.committed_offset, row.metadata, ErrorCode(row.error_code).name)
                for topic in answer.groups[0].topics
                for row in topic.partitions
            ]
            for answer in offsets
        ],
    }


def go_on(client: ConfluentKafka, ask: Callable[[ConfluentKafka], dict[str, Any]]) -> dict[str, Any]:
    """Groups continue where they were, the open transaction is aborted, and there is more to find afterwards."""
    assert client.consume(ENCODED, GROUP, 3)[0].offset == 7
    client.produce(PLAIN, RECORDS, partition=1, idempotent=True)
    client.create_topic("later", 2, {"retention.ms": "77777"})
    client.produce("later", RECORDS, codec="zstd")
    transactional_producer(client.bootstrap, LEFT_OPEN)
    transactional_producer(client.bootstrap, "writer-0")
    return eventually(lambda: ask(client), lambda found: found["group"][1] == GROUP_AFTERWARDS)


def complete_contents(client: ConfluentKafka) -> dict[str, Any]:
    """What is found at first, when the markers of the last transaction have come."""
    found = eventually(lambda: contents(client), lambda found: found["group"] == [GROUP_OFFSETS, STABLE_GROUP_OFFSETS])
    assert len(found["uncommitted"][TRANSACTIONAL, 0]) == 15
    assert len(found["committed"][TRANSACTIONAL, 0]) == 6
    return found


def assert_same(after: dict[str, Any], before: dict[str, Any]) -> None:
    for question, answer in before.items():
        assert after[question] == answer, question


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_directory_of_apache_kafka_opens_in_ottla_and_goes_back(shared: SharedDirectory, end: str) -> None:
    with shared.run("kafka", end=end) as client:
        fill(client)
        before = complete_contents(client)
    with shared.run("ottla", end=end) as client:
        assert_same(contents(client), before)
        after = go_on(client, contents)
    with shared.run("kafka") as client:
        assert_same(contents(client), after)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_directory_of_ottla_opens_in_apache_kafka_and_goes_back(shared: SharedDirectory, end: str) -> None:
    with shared.run("ottla", end=end) as client:
        fill(client)
        before = complete_contents(client)
    with shared.run("kafka", end=end) as client:
        assert_same(contents(client), before)
        after = go_on(client, contents)
    with shared.run("ottla") as client:
        assert_same(contents(client), after)
