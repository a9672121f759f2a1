"""Batches that a fetch brings."""

import asyncio

import pytest

from ottla.client import Client, TopicPartition
from ottla.client.fetch_request import NOTHING, FetchedBatches, fetch, whole_batches
from ottla.client.records import NewRecord, encode_records
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
