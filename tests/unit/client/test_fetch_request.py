"""Batches that a fetch brings."""

import asyncio

import pytest

from ottla.client import Client, CorruptBatch, TopicPartition
from ottla.client.fetch_request import NOTHING, FetchedBatches, fetch, whole_batches
from ottla.client.records import NewRecord, encode_records
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from unit.client.answering_broker import asked

ONE = bytes(encode_records([NewRecord(b"one")]))
TWO = bytes(encode_records([NewRecord(b"two" * 50)]))


def test_whole_batches_stay_whole() -> None:
    assert whole_batches(memoryview(ONE + TWO)) == ONE + TWO


@pytest.mark.parametrize("size", [1, 11, 12, 60, len(TWO) - 1])
def test_a_batch_that_was_cut_is_left_out(size: int) -> None:
    assert whole_batches(memoryview(ONE + TWO[:size])) == ONE


def test_a_senseless_length_ends_the_search() -> None:
    assert whole_batches(memoryview(ONE + bytes(8) + b"\xff\xff\xff\xff" + bytes(60))) == ONE


def test_a_leader_that_has_not_looked_names_the_replica_to_ask() -> None:
    row = PartitionData(high_watermark=7, last_stable_offset=7, log_start_offset=0, preferred_read_replica=2)
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[row])])
    partition = TopicPartition("t", 0)

    async def work(client: Client) -> dict[TopicPartition, FetchedBatches]:
        return await fetch(client.cluster, await client.cluster.connection(1), {partition: 0})

    found, _ = asyncio.run(asked({FetchRequest: answer}, work))
    assert found[partition] == FetchedBatches(NOTHING, 7, 7, 0, preferred_read_replica=2)


def fetched(*rows: PartitionData, offset: int = 0) -> FetchedBatches:
    """What a fetch of one partition makes of a broker's rows."""
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=list(rows))])
    partition = TopicPartition("t", 0)

    async def work(client: Client) -> dict[TopicPartition, FetchedBatches]:
        return await fetch(client.cluster, await client.cluster.connection(1), {partition: offset})

    found, _ = asyncio.run(asked({FetchRequest: answer}, work))
    assert list(found) == [partition]
    return found[partition]


def test_a_partition_that_was_not_asked_for_is_passed_over() -> None:
    assert fetched(PartitionData(partition_index=1, records=TWO), PartitionData(records=ONE)).batches == ONE


@pytest.mark.parametrize("records", [TWO[:-1], TWO[:40], bytes(len(TWO))], ids=["cut", "header", "zeros"])
def test_bytes_without_one_whole_batch_are_a_damaged_batch(records: bytes) -> None:
    answer = fetched(PartitionData(records=records, high_watermark=9), offset=3)
    assert isinstance(answer.error, CorruptBatch)
    assert answer.error.offset == 3
    assert (answer.batches, answer.high_watermark) == (NOTHING, 9)


def test_an_error_of_the_broker_is_told_before_its_bytes_are_looked_at() -> None:
    answer = fetched(PartitionData(records=TWO[:-1], error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert answer.error is not None
    assert answer.error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
