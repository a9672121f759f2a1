"""What a new leader says of the end of its log before it knows how far that is committed."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.transactional_requests import Requests
from ottla.broker.handlers.k02_list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic


async def listed(requests: Requests, timestamp: int, version: int, isolation_level: int = 0) -> tuple[int, int]:
    topic = ListOffsetsTopic(name="orders", partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[topic])
    (row,) = (await requests.client.call(request, version)).topics[0].partitions
    return row.error_code, row.offset


@pytest.mark.parametrize(
    ("version", "refusal"), [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)]
)
def test_a_new_leader_tells_no_end_before_its_watermark_has_reached_the_start_of_its_epoch(
    tmp_path: Path, version: int, refusal: ErrorCode
) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1)
        partition = running.node.replicas.partition("orders", 0)
        pair = replace(partition.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=8)
        partition.apply(pair)
        assert await listed(requests, LATEST, version) == (ErrorCode.NONE, 0), "nothing is in its log yet"
        await requests.client.call(requests.produce_request(None, {("orders", 0): batch_of(b"v")}, acks=1), 13)
        partition.apply(replace(pair, leader_epoch=pair.leader_epoch + 1, partition_epoch=9))
        for timestamp in (LATEST, 0):
            assert await listed(requests, timestamp, version) == (refusal, -1)
        assert await listed(requests, LATEST, version, isolation_level=1) == (refusal, -1)
        assert await listed(requests, MAX_TIMESTAMP, 7) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
        assert await listed(requests, EARLIEST, version) == (ErrorCode.NONE, 0)
        partition.follower_fetched(2, 1, 0, leader_end_offset=1, broker_epoch=1)
        assert await listed(requests, LATEST, version) == (ErrorCode.NONE, 1)

    run_node(tmp_path / "data", scenario)
