"""What a broker says about partitions that it does not lead: as a follower, without a replica, and if there is none."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.running_node import batch_of
from harness.three_brokers import ThreeBrokers, three_brokers
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.schema import Message

pytestmark = pytest.mark.timeout(240)

TOPIC = "elsewhere"
ASKED = 1
FOLLOWED, STRANGE, ABSENT = range(3)
REPLICAS = {FOLLOWED: [0, ASKED], STRANGE: [0, 2]}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path_factory.mktemp("brokers")) as started:
        with Client(started.bootstrap) as client:
            client.admin.create_topics([NewTopic(TOPIC, assignments=REPLICAS)])
        started.until_in_sync()
        asked = f"127.0.0.1:{started.cluster.nodes[ASKED].port}"
        with Client(asked) as client:
            eventually(lambda: [topic.name for topic in client.admin.list_topics()], lambda names: TOPIC in names)
        yield started


def produce(index: int) -> Message:
    rows = [PartitionProduceData(index=index, records=batch_of(b"x"))]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=TOPIC, partition_data=rows)])


def fetch(index: int) -> Message:
    rows = [FetchPartition(partition=index, partition_max_bytes=1000)]
    return FetchRequest(
        replica_id=-1, max_bytes=1000, session_epoch=-1, topics=[FetchTopic(topic=TOPIC, partitions=rows)]
    )


def list_offsets(index: int) -> Message:
    rows = [ListOffsetsPartition(partition_index=index, timestamp=-1)]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=rows)])


def delete_records(index: int) -> Message:
    rows = [DeleteRecordsPartition(partition_index=index, offset=-1)]
    return DeleteRecordsRequest(timeout_ms=1000, topics=[DeleteRecordsTopic(name=TOPIC, partitions=rows)])


def offset_for_leader_epoch(index: int) -> Message:
    rows = [OffsetForLeaderPartition(partition=index, leader_epoch=0)]
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=rows)])


def describe_producers(index: int) -> Message:
    return DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[index])])


NOT_LEADER, UNKNOWN = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def error_of(brokers: ThreeBrokers, request: Message, version: int, find: Callable[[Any], int]) -> ErrorCode:
    async def ask() -> int:
        client = await WireClient.connect(brokers.cluster.nodes[ASKED].port)
        try:
            return find(await client.call(request, version))
        finally:
            await client.close()

    return ErrorCode(asyncio.run(ask()))


def in_topics(answer: Any) -> int:
    code: int = answer.topics[0].partitions[0].error_code
    return code


# With a version that names topics.
@pytest.mark.parametrize(
    ("make", "version", "find"),
    [
        (produce, 12, lambda answer: answer.responses[0].partition_responses[0].error_code),
        (list_offsets, 10, in_topics),
        (delete_records, 2, in_topics),
        (offset_for_leader_epoch, 4, in_topics),
    ],
    ids=["produce", "list-offsets", "delete-records", "offset-for-leader-epoch"],
)
def test_what_only_a_leader_answers_is_refused_as_such(
    brokers: ThreeBrokers, make: Callable[[int], Message], version: int, find: Callable[[Any], int]
) -> None:
    said = {index: error_of(brokers, make(index), version, find) for index in (FOLLOWED, STRANGE, ABSENT)}
    assert said == {FOLLOWED: NOT_LEADER, STRANGE: NOT_LEADER, ABSENT: UNKNOWN}


def test_a_consumer_hears_that_a_broker_has_no_replica(brokers: ThreeBrokers) -> None:
    def in_responses(answer: Any) -> int:
        code: int = answer.responses[0].partitions[0].error_code
        return code

    said = {index: error_of(brokers, fetch(index), 12, in_responses) for index in (STRANGE, ABSENT)}
    assert said == {STRANGE: NOT_LEADER, ABSENT: UNKNOWN}


def test_a_follower_describes_producers_as_its_leader_does(brokers: ThreeBrokers) -> None:
    said = {index: error_of(brokers, describe_producers(index), 0, in_topics) for index in (FOLLOWED, STRANGE, ABSENT)}
    assert said == {FOLLOWED: ErrorCode.NONE, STRANGE: NOT_LEADER, ABSENT: UNKNOWN}


def test_only_a_replica_can_move_to_another_directory(brokers: ThreeBrokers) -> None:
    directory = brokers.cluster.nodes[ASKED].settings["log.dirs"]

    def move(index: int) -> Message:
        topic = AlterReplicaLogDirTopic(name=TOPIC, partitions=[index])
        return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=directory, topics=[topic])])

    def in_results(answer: Any) -> int:
        code: int = answer.results[0].partitions[0].error_code
        return code

    said = {index: error_of(brokers, move(index), 2, in_results) for index in (FOLLOWED, STRANGE, ABSENT)}
    assert said == {FOLLOWED: ErrorCode.NONE, STRANGE: ErrorCode.REPLICA_NOT_AVAILABLE, ABSENT: UNKNOWN}
