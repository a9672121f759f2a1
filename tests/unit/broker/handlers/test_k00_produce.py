"""What a producer hears when its records cannot be made safe in time."""

from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker import purgatory
from ottla.broker.handlers import k00_produce
from ottla.broker.request_slices import SLICE_RULES, SliceRule
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.replication.partition import Partition

PARTITIONS = 4


@pytest.mark.parametrize("rows_at_once", [1, 3, PARTITIONS])
def test_a_request_has_one_deadline_for_all_its_partitions_and_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    (rule,) = SLICE_RULES[ApiKey.PRODUCE]
    in_pieces = SliceRule(rule.request, rule.response, rows_at_once, frame_bytes_min=0)
    monkeypatch.setitem(SLICE_RULES, ApiKey.PRODUCE, (in_pieces,))
    deadlines: list[float] = []

    async def noting(partition: Partition, last_offset: int, deadline: float) -> bool:
        deadlines.append(deadline)
        return await purgatory.wait_until_committed(partition, last_offset, deadline)

    monkeypatch.setattr(k00_produce, "wait_until_committed", noting)

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
        for index in range(PARTITIONS):
            # A replica that never fetches.
            running.node.replicas.partition("orders", index).in_sync_ids = (1, 2)
        rows = [PartitionProduceData(index=index, records=batch_of(b"v")) for index in range(PARTITIONS)]
        data = [TopicProduceData(topic_id=created.topic_id, partition_data=rows)]
        (answered,) = (await client.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=data))).responses
        codes = [(row.index, row.error_code) for row in answered.partition_responses]
        assert codes == [(index, ErrorCode.REQUEST_TIMED_OUT) for index in range(PARTITIONS)]
        assert len(deadlines) == PARTITIONS
        assert len(set(deadlines)) == 1

    run_node(tmp_path / "data", scenario)
